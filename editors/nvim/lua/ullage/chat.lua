-- Prompts and their answers: the running prompt, the waiting ones, and the answer as far as it is written. The server
-- answers the prompts of a session one after another, so the first prompt without an answer is the running one.
local events = require('ullage.events')
local notices = require('ullage.notices')
local session = require('ullage.session')

local M = {}

---@class ullage.Speech a message that is being written
---@field id string
---@field role 'user'|'assistant'
---@field text string
---@field thinking string

---@class ullage.Prompt
---@field text string
---@field taken boolean the prompt is in the transcript

---@type ullage.Prompt[] the running prompt, then the waiting ones
M.prompts = {}
---@type ullage.Speech[] the messages of the running turn, in order
M.speeches = {}
---@type table<string, { title: string, status: string }> its tool calls by id
M.calls = {}
---@type ullage.Speech[][] the messages of turns that a crash of the server ended. The server has only those of them that
---were complete.
M.broken = {}
---@type string a prompt that did not reach the model
M.unsent = ''

-- Messages for the ends of turns that need one. A complete answer needs none.
local ENDS = {
  cancelled = { 'Stopped. What was said is kept.', 'info' },
  max_tokens = { 'The answer was cut off: it reached its limit of tokens. Ask to go on.', 'warning' },
  max_turn_requests = { 'The model was stopped: it called tools again and again. Ask to go on.', 'warning' },
  refusal = { 'The model refused to answer.', 'warning' },
}

---@param prompt ullage.Prompt
---@param error ullage.Error?
---@param result any
local function finish(prompt, error, result)
  M.prompts = vim.tbl_filter(function(other)
    return other ~= prompt
  end, M.prompts)
  if error and error.kind == 'ServerStopped' and #M.speeches > 0 then
    M.broken[#M.broken + 1] = M.speeches
    M.speeches, M.calls = {}, {}
  end
  events.emit('turn')
  if notices.failed(error) then
    M.unsent = prompt.taken and '' or prompt.text
  elseif ENDS[result.stopReason] then
    notices.say(unpack(ENDS[result.stopReason]))
  end
end

local function send(text)
  local prompt = { text = text, taken = false }
  M.prompts[#M.prompts + 1] = prompt
  M.unsent = ''
  events.emit('turn')
  session.request('session/prompt', { prompt = { { type = 'text', text = text } } }, function(error, result)
    finish(prompt, error, result)
  end)
end

---Asks the model, and starts a session first if there is none. If the folder's last session is being opened, the
---prompt waits for it.
---@param text string
function M.ask(text)
  session.ensure(function(error)
    if notices.failed(error) then
      M.unsent = text
    else
      send(text)
    end
  end)
end

---Stops the answer that is being written. The written text stays, and the next prompt starts.
function M.stop()
  if #M.prompts == 0 then
    notices.say('No answer is being written.')
  else
    session.request('session/cancel', {}, notices.failed)
  end
end

---@param update table
---@return ullage.Speech
local function speech_of(update)
  for _, speech in ipairs(M.speeches) do
    if speech.id == update.messageId then
      return speech
    end
  end
  local role = update.sessionUpdate == 'user_message_chunk' and 'user' or 'assistant'
  local speech = { id = update.messageId, role = role, text = '', thinking = '' }
  M.speeches[#M.speeches + 1] = speech
  return speech
end

---Starts a turn when its prompt is in the transcript. The earlier messages are in the transcript by then, too.
local function begin()
  M.speeches, M.calls = {}, {}
  if M.prompts[1] then
    M.prompts[1].taken = true
  end
end

local take = {}

function take.user_message_chunk(update)
  begin()
  take.agent_message_chunk(update)
end

function take.agent_message_chunk(update)
  local speech = speech_of(update)
  speech.text = speech.text .. update.content.text
  events.emit('said', speech, update.content.text)
end

function take.agent_thought_chunk(update)
  local speech = speech_of(update)
  speech.thinking = speech.thinking .. update.content.text
  events.emit('said', speech, '')
end

function take.tool_call_update(update)
  local call = M.calls[update.toolCallId] or { title = '' }
  M.calls[update.toolCallId] = { title = update.title or call.title, status = update.status }
  events.emit('called', update.toolCallId)
end

take.tool_call = take.tool_call_update

---Takes an update of the active session that belongs to an answer.
---@param update table
local function hear(update)
  take[update.sessionUpdate](update)
end

local function forget()
  M.prompts, M.speeches, M.calls, M.broken = {}, {}, {}, {}
  events.emit('turn')
end

local active
events.on('answer', hear)
events.on('session', function(now)
  if (now and now.id) ~= active then
    active = now and now.id
    forget()
  end
end)

return M
