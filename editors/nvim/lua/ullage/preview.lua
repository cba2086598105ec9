-- `:Ullage preview`: the summary of a compaction, to be edited, accepted or discarded. Under it are the messages that the
-- compaction archives, which are not a part of the summary, as under the scissors of a commit message.
local items = require('ullage.context.items')
local notices = require('ullage.notices')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

local SCISSORS = '------------------------ >8 ------------------------'

---Returns the lines of the buffer.
---@param result ullage.CompactResult
function M.lines(result)
  local lines = vim.split(result.summary, '\n', { plain = true })
  local tokens = 0
  for _, entry in ipairs(result.archived) do
    tokens = tokens + entry.tokens
  end
  local goes = ('Archived: %s, %s tokens. What is under the scissors is not a part of the summary.'):format(
    words.count(#result.archived, 'message'),
    words.short(tokens)
  )
  vim.list_extend(lines, { SCISSORS, goes, '' })
  for _, entry in ipairs(result.archived) do
    lines[#lines + 1] = ('%6s  %s'):format(words.short(entry.tokens), items.line_of(entry.message))
  end
  return lines
end

---Returns the summary in the lines of the buffer, or nil if the scissors are not there.
function M.summary(lines)
  for number, line in ipairs(lines) do
    if line == SCISSORS then return table.concat(lines, '\n', 1, number - 1) end
  end
end

---@param id string of the session
local function request(id, focus)
  session.call('context/compact', { sessionId = id, dryRun = true, focus = focus }, function(result)
    local sizes = words.shrinking(result.contextSizeBefore, result.contextSizeAfter)
    require('ullage.proposal').show({
      name = 'preview',
      keys = ('compacts, %s'):format(sizes),
      lines = M.lines(result),
      filetype = 'markdown',
      is_editable = true,
      accept = function(close, lines)
        local summary = M.summary(lines)
        if not summary then
          notices.error(
            'The line with the scissors (>8) is gone, so the end of the summary is not known. u brings it back.'
          )
          return
        end
        local params = { sessionId = id, previewId = result.previewId }
        params.summary = summary ~= result.summary and summary or nil
        -- The compaction's own notice shows the result.
        session.call('context/commit', params, function() close() end)
      end,
    })
  end)
end

---Requests a preview and opens it. The session stays the same if another one becomes active meanwhile.
function M.open(focus)
  session.current(function()
    if session.active then
      request(session.active.id, focus)
    else
      notices.failed(session.lacking())
    end
  end)
end

return M
