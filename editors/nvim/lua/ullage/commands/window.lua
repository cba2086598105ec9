local notices = require('ullage.notices')
local session = require('ullage.session')
local words = require('ullage.words')

local FACTORS = { [''] = 1, k = 1000, m = 1000000 }

---Returns the tokens of `200000`, `200k` or `1m`, or nil.
local function tokens(text)
  local digits, unit = text:lower():match('^([%d.]+)([km]?)$')
  local number = tonumber(digits)
  local count = number and math.floor(number * FACTORS[unit] + 0.5)
  return count and count > 0 and count or nil
end

---@param figures ullage.Figures
local function show(figures)
  if not figures.size then
    notices.say('The window is not known. :Ullage window 200k sets it.')
    return
  end
  local window = figures.window
  local basis = window and (' (%s)'):format(window.basis) or ''
  local doubt = window and window.contradiction and (' But: %s.'):format(window.contradiction) or ''
  local remarks = vim.tbl_map(function(remark)
    return ' ' .. remark.text
  end, figures.remarks)
  notices.say(
    ('The window is %s tokens%s.%s%s'):format(words.grouped(figures.size), basis, doubt, table.concat(remarks))
  )
end

---@param model string
---@param size integer
local function set(model, size)
  require('ullage.config').set_window(model, size)
  require('ullage.client').configure()
  session.refresh()
  local lasting = ('settings.models["%s"] = { window = %d }'):format(model, size)
  notices.say(('The window of %s is %s tokens. To keep it: %s'):format(model, words.grouped(size), lasting))
end

---@type ullage.Command
return {
  summary = 'Show the window of the session’s model, or set it',
  run = function(text)
    local size = tokens(text)
    if text ~= '' and not size then
      notices.error(('%s is not a number of tokens. Write it as 200000, 200k or 1m.'):format(text))
      return
    end
    session.request('context/get', {}, function(error, result)
      if notices.failed(error) then
        return
      end
      local figures = require('ullage.session.figures').read(result)
      if not size then
        show(figures)
      elseif figures.model == '' then
        notices.error('The session names no model whose window could be set. Name it first: :Ullage model {name}')
      else
        set(figures.model, size)
      end
    end)
  end,
}
