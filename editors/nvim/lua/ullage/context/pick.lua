-- Picks any message of a conversation, archived or not.
local notices = require('ullage.notices')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

-- The most messages in the list, the newest first. Older ones are found in the conversation.
local SHOWN = 30

-- Lines of a list that are no message. They are compared by identity.
local FIND, OLDER = {}, {}

---Lets the user choose one of some messages, or what else the list offers.
---@param list table[] messages or hits of a search, and `FIND` and `OLDER`
---@param older integer how many messages are older than these
---@param on_choice fun(choice?: table)
local function choose(list, older, prompt, on_choice)
  local function label(item)
    if item == FIND then
      return '  Find another one by its number or by words…'
    elseif item == OLDER then
      return ('  Older messages (%s more)…'):format(words.grouped(older))
    end
    local line = item.message and require('ullage.context.items').line_of(item.message)
      or item.snippet:gsub('%*%*', ''):gsub('%s+', ' ')
    return ('%s%s %s'):format(item.pinned and '● ' or '  ', words.number(item.index), line)
  end
  vim.ui.select(list, { prompt = prompt, format_item = label }, on_choice)
end

---Finds messages of a whole conversation.
---@param id string of the session
---@param typed string a number, or words
---@param found fun(entries: table[]) entries, or hits of a search
local function find(id, typed, found)
  local number = tonumber(typed:match('^#?(%d+)$'))
  local method = number and 'context/messages' or 'context/search'
  local params = number and { sessionId = id, scope = 'transcript', offset = math.max(0, number - 1), limit = 1 }
    or { sessionId = id, query = typed, limit = SHOWN }
  session.call(method, params, function(result)
    if (result.note or '') ~= '' then notices.say(result.note) end
    local list = result.entries or result.hits
    if #list > 0 and number ~= 0 then return found(list) end
    local none = number and 'There is no message #%s.' or 'Nothing was said about “%s”.'
    notices.say(none:format(number or typed))
  end)
end

---Lets the user choose a message of a whole conversation, archived or not: the newest ones first, page by page, or by a
---number or words.
---@param id string of the session
---@param use fun(message_id: string)
function M.any(id, prompt, use)
  local function decide(choice)
    if choice then use(choice.message and choice.message.id or choice.messageId) end
  end

  local function ask()
    vim.ui.input({ prompt = 'Number of a message, or words: ' }, function(typed)
      if typed and vim.trim(typed) ~= '' then
        find(id, vim.trim(typed), function(list) choose(list, 0, prompt, decide) end)
      end
    end)
  end

  ---@param stop integer the messages before this one are shown
  local function page(stop)
    local start = math.max(0, stop - SHOWN)
    local params = { sessionId = id, scope = 'transcript', offset = start, limit = math.max(1, stop - start) }
    session.call('context/messages', params, function(result)
      local list = vim.list_extend({ FIND }, vim.fn.reverse(result.entries))
      list[#list + 1] = start > 0 and OLDER or nil
      choose(list, start, prompt, function(choice)
        if choice == FIND then
          vim.schedule(ask)
        elseif choice == OLDER then
          vim.schedule_wrap(page)(start)
        else
          decide(choice)
        end
      end)
    end)
  end

  session.call('context/messages', { sessionId = id, scope = 'transcript', limit = 1 }, function(result)
    if result.total == 0 then return notices.say('There is no message yet.') end
    page(result.total)
  end)
end

return M
