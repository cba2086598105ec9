-- What a search of the team's archive finds, in a window, and a whole message of it in another one.
local windows = require('ullage.window')
local notices = require('ullage.notices')
local words = require('ullage.words')

local M = {}

local NAME = 'ullage://team'

---@class ullage.TeamLine: ullage.ListLine
---@field hit? ullage.TeamHitRow the message that the line is of

---Returns others' words as one line.
local function flat(text) return vim.trim((text:gsub('%s+', ' '))) end

---@param found ullage.TeamHitRow|ullage.TeamOpenResult
local function head(found)
  return windows.line({
    { ('%s  %s'):format(flat(found.owner), flat(found.folder)), 'UllageTitle' },
    { '  ' .. flat(found.title) },
    { ('  %s %s'):format(words.number(found.index), flat(found.role)), 'UllageTokens' },
  })
end

local function body(text)
  return vim.tbl_map(
    function(each) return windows.line({ { '  ' .. each:gsub('[%c]', ' ') } }) end,
    vim.split(text, '\n', { plain = true })
  )
end

---Returns the lines of the list: for each hit whose it is, from which folder and conversation, then the text.
---@param result ullage.TeamSearchResult
---@return ullage.TeamLine[]
function M.lines(query, result)
  local found = ('%d found in the team’s archive: %s'):format(#result.hits, flat(query))
  local lines = {
    windows.line({ { found, 'UllageTitle' } }),
    windows.line({ { '<CR> opens the whole message, q closes', 'UllageMuted' } }),
  }
  for _, hit in ipairs(result.hits) do
    lines[#lines + 1] = windows.line({ { '' } })
    for _, each in ipairs(vim.list_extend({ head(hit) }, body(hit.text))) do
      each.hit = hit
      lines[#lines + 1] = each
    end
  end
  return lines
end

---Returns the lines of a whole message: whose it is, then its text.
---@param message ullage.TeamOpenResult
---@return ullage.ListLine[]
function M.message_lines(message)
  local close =
    windows.line({ { ('of %s messages, q closes'):format(words.grouped(message.messages)), 'UllageMuted' } })
  return vim.list_extend({ head(message), close, windows.line({ { '' } }) }, body(message.text))
end

---Opens the list, below. <CR> opens a whole message, below the list.
---@param result ullage.TeamSearchResult
function M.show(query, result)
  local lines = M.lines(query, result)
  local function open(number)
    local hit = lines[number].hit
    if hit then
      require('ullage.client').call('team/open', { sessionId = hit.sessionId, index = hit.index }, function(message)
        local name = ('%s/%s/%d'):format(NAME, message.sessionId, message.index + 1)
        windows.show_list(name, M.message_lines(message), {}, {})
      end)
    end
  end
  windows.show_list(NAME, lines, {}, { ['<CR>'] = { 'open the whole message', open } })
end

---`:Ullage! search`
function M.search(query)
  require('ullage.client').request('team/search', { query = query, limit = 20 }, function(error, result)
    if not notices.failed(error) and #result.hits == 0 then
      notices.say(('The team’s archive has nothing about “%s”.'):format(query))
    elseif not error then
      M.show(query, result)
    end
  end)
end

return M
