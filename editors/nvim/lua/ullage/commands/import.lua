local notices = require('ullage.notices')
local paths = require('ullage.paths')
local rows = require('ullage.following.rows')
local words = require('ullage.words')

-- Cells of a title in the list.
local TITLE = 60

local function imported(error, result)
  if notices.failed(error) then
    return
  end
  local left_out = #result.unread > 0 and (', %s not readable'):format(words.count(#result.unread, 'line')) or ''
  notices.say(('Imported %s (%s%s).'):format(words.count(result.messages, 'message'), result.format, left_out))
end

---@param params table `ImportParams` of the protocol
local function import(params)
  require('ullage.session').import(params, imported)
end

---Returns a conversation's line in the list of those that agents keep on this machine.
---@param found ullage.FoundTranscript
---@param by_path table<string, ullage.Followed> what is known of those that are followed, which have one title and one age
---@return string
local function line(found, by_path)
  local row = by_path[found.path]
  local title = row and rows.title(row) or words.plain(found.title)
  title = title ~= '' and title or vim.fs.basename(found.path)
  local parts = { words.fit(title, TITLE), found.agent, words.ago(row and row.updated_at or found.updatedAt) }
  if not found.here and found.cwd ~= '' then
    parts[#parts + 1] = vim.fn.fnamemodify(found.cwd, ':~')
  end
  return table.concat(parts, ' · ')
end

local function choose()
  require('ullage.client').request('transcripts/list', { cwd = vim.uv.cwd() }, function(error, result)
    if notices.failed(error) then
      return
    end
    if #result.transcripts == 0 then
      notices.say('No conversation of a coding agent was found. Name a file: :Ullage import {file}')
      return
    end
    local by_path = {}
    for _, row in ipairs(require('ullage.following').all()) do
      by_path[row.path] = row
    end
    local options = {
      prompt = 'Import a conversation',
      format_item = function(found)
        return line(found, by_path)
      end,
    }
    require('ullage.commandline').select(result.transcripts, options, function(found)
      if found then
        import({ path = found.path, run = found.run })
      end
    end)
  end)
end

---@type ullage.Command
return {
  summary = 'Bring in another program’s conversation',
  run = function(path)
    if path ~= '' then
      import({ path = paths.full(path) })
    else
      choose()
    end
  end,
  complete = function(_, path)
    return paths.complete(path)
  end,
}
