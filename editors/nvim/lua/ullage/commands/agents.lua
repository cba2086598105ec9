local consent = require('ullage.following.consent')
local following = require('ullage.following')
local notices = require('ullage.notices')
local rows = require('ullage.following.rows')
local words = require('ullage.words')

-- Cells of a title in the list.
local TITLE = 40
-- Columns of a screen on which the figures leave room for the title.
local WIDE = 80

---Returns a conversation's line in the list. The end may be cut on a narrow screen.
---@param row ullage.Followed
---@return string
local function line(row)
  local figures = vim.o.columns < WIDE and rows.briefest(row) or ('%s: %s'):format(row.agent_short, rows.figures(row))
  local parts = {
    ('%s %s'):format(row.live and '●' or '○', figures),
    words.fit(rows.title(row), TITLE),
    words.ago(row.updated_at),
  }
  if row.cwd ~= '' and row.cwd ~= vim.uv.cwd() then
    parts[#parts + 1] = vim.fn.fnamemodify(row.cwd, ':~')
  end
  for _, warning in ipairs(row.warnings) do
    parts[#parts + 1] = ('note: %s'):format(words.first_line(warning))
  end
  return table.concat(parts, ' · ')
end

local function choose()
  local list = following.listed()
  if #list == 0 then
    notices.say('No agent has a conversation on this machine. It is listed here as soon as one writes to its files.')
    return
  end
  local options = { prompt = 'Conversations of agents', format_item = line }
  require('ullage.commandline').select(list, options, function(row)
    if row then
      require('ullage.following.opening').open(row)
    end
  end)
end

-- Milliseconds. The first rows come within a second of the beginning, most of them at once.
local STEP, PATIENCE = 200, 3000

---Calls `work` once no more rows have come for a moment, after following has begun.
---@param work fun()
---@param waited? integer milliseconds
---@param before? integer rows
local function once_found(work, waited, before)
  local count = #following.all()
  if count > 0 and count == before or (waited or 0) >= PATIENCE then
    work()
    return
  end
  vim.defer_fn(function()
    once_found(work, (waited or 0) + STEP, count)
  end, STEP)
end

---@param error ullage.Error?
---@param answer boolean
---@param wires? boolean the agents are to run Ullage, too
local function answered(error, answer, wires)
  if notices.failed(error) then
    return
  elseif wires then
    require('ullage.wiring').propose('agents/wire', {}, 'runs Ullage already.')
  elseif answer then
    once_found(choose)
  else
    notices.say("This Neovim does not follow agents' conversations. :Ullage agents on changes that.")
  end
end

---@type ullage.Command
return {
  summary = 'List the conversations of coding agents on this machine, and open one',
  without_server = true,
  run = function(word)
    following.start()
    local is_followed = require('ullage.following.live_file').is_written()
    if word == 'on' or word == 'off' then
      consent.answer(word == 'on', function(error)
        answered(error, word == 'on')
      end)
    elseif word ~= '' then
      notices.error((':Ullage agents %s does not exist; there are on, off.'):format(word))
    elseif is_followed or consent.given() == false and #following.all() > 0 then
      choose()
    elseif consent.given() then
      consent.begin(function(error)
        answered(error, true)
      end)
    else
      consent.ask(answered)
    end
  end,
  complete = function()
    return { 'off', 'on' }
  end,
}
