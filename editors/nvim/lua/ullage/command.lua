-- `:Ullage`: one command, whose subcommands are this file's table.
local M = {}

---@class ullage.Command
---@field run fun(words: string, bang: boolean) `words` is all text after the subcommand
---@field without_server? boolean it needs no server, or starts it itself
---@field edits? boolean it changes the active session, which cannot be done if an agent has it
---@field complete? fun(words: string): string[] candidates for the next word

---Returns a function that calls a module's function when the command is used: nothing is loaded before.
---@return function
local function lazily(module, name)
  return function(...) return require('ullage.' .. module)[name](...) end
end

---Calls `use` with what the user typed, or asks for it.
---@param use fun(words: string)
local function asking(prompt, use)
  return function(words, bang)
    if words ~= '' then return use(words, bang) end
    vim.ui.input({ prompt = prompt }, function(typed)
      if typed and vim.trim(typed) ~= '' then use(vim.trim(typed), bang) end
    end)
  end
end

-- The words for what else an agent gets: the param, and its value.
local WIRED = {
  statusline = { 'statusLine', true },
  nostatusline = { 'statusLine', false },
  fillnotes = { 'fillNotes', true },
  nofillnotes = { 'fillNotes', false },
}

local function wire(words)
  local params = {}
  for word in words:gmatch('%S+') do
    local option = WIRED[word]
    if option then
      params[option[1]] = option[2]
    elseif params.agent then
      require('ullage.notices').error(
        ':Ullage wire takes one agent, and the words statusline and fillnotes, or no before them.'
      )
      return
    else
      params.agent = word
    end
  end
  require('ullage.wiring').propose('agents/wire', params, 'runs Ullage already.')
end

---@type table<string, ullage.Command>
local COMMANDS = {
  agents = {
    without_server = true,
    run = lazily('lists', 'agents'),
    complete = function() return { 'off', 'on' } end,
  },
  compact = { run = lazily('compacting', 'compact') },
  context = { run = lazily('following.opening', 'current') },
  continue = {
    run = function(focus)
      local entry = require('ullage.context').entry_under_cursor()
      require('ullage.continuing').offer(focus, entry and not entry.inserted and entry or nil)
    end,
  },
  forget = { run = lazily('undo', 'forget'), complete = lazily('lists', 'ids') },
  import = { run = lazily('lists', 'import'), complete = lazily('paths', 'complete') },
  log = { run = lazily('journal', 'show') },
  lost = { run = lazily('lost', 'list') },
  preview = { edits = true, run = lazily('preview', 'open') },
  search = {
    run = asking(
      'Search the conversation: ',
      function(words, bang) require(bang and 'ullage.team' or 'ullage.context').search(words) end
    ),
  },
  switch = { run = lazily('lists', 'switch'), complete = lazily('lists', 'ids') },
  undo = { run = lazily('undo', 'ask'), complete = lazily('undo', 'ids') },
  unwire = {
    without_server = true,
    run = function(word)
      local params = { agent = word ~= '' and word or nil }
      require('ullage.wiring').propose('agents/unwire', params, 'does not run Ullage.')
    end,
    complete = function() return require('ullage.wiring').words('agents/unwire') end,
  },
  wire = {
    without_server = true,
    run = wire,
    complete = function()
      return vim.list_extend(require('ullage.wiring').words('agents/wire'), vim.fn.sort(vim.tbl_keys(WIRED)))
    end,
  },
}

M.NAMES = vim.fn.sort(vim.tbl_keys(COMMANDS))

local CHAT = 'a chat plugin asks models through `ullage acp`, see :help ullage-chat'
local SHELL = '`ullage %s` does it in a shell'

-- Subcommands that are no more, and what does their work.
M.GONE = {
  ask = CHAT,
  cancel = ':Ullage undo stops a compaction that runs',
  choose = 'a notice names the commands that it offers',
  delete = ':Ullage forget removes a conversation',
  export = SHELL:format('export'),
  fork = ':Ullage continue goes on in a new session',
  from = 'cf in :Ullage context compacts from a message on',
  model = CHAT,
  new = CHAT,
  pin = 'p in :Ullage context pins a message',
  rename = "require('ullage').request('session/rename', { title = … }) does it",
  restart = 'every :Ullage command starts a server that has stopped',
  restore = ':Ullage undo takes the edits back, the last one first',
  stop = CHAT,
  team = ':Ullage! search finds words in what your team shares',
  upto = 'ct in :Ullage context compacts everything up to a message',
  window = 'the setting `models` has the windows, see :checkhealth ullage',
}

---@param call table the argument of |nvim_create_user_command()|'s callback
function M.run(call)
  local notices = require('ullage.notices')
  local name, words = call.args:match('^(%S*)%s*(.-)%s*$')
  name = name == '' and 'context' or name
  local command = COMMANDS[name]
  local fine, fault = pcall(function()
    if M.GONE[name] then
      notices.error((':Ullage %s is no more: %s.'):format(name, M.GONE[name]))
    elseif not command then
      notices.error((':Ullage %s does not exist; :Ullage <Tab> lists the commands.'):format(name))
    else
      if not command.without_server then
        require('ullage').start()
        require('ullage.client').forgive()
      end
      if not (command.edits and require('ullage.following').refuse()) then command.run(words, call.bang == true) end
    end
  end)
  if not fine then
    -- Shown whatever the options say: the fault may be in them.
    notices.show(tostring(fault), '', vim.log.levels.ERROR)
  end
end

---@param lead string the word under the cursor
function M.complete(lead, line, position)
  local name, words = line:sub(1, position):match('Ullage!?%s+(%S+)%s+(.*)$')
  local candidates = not name and M.NAMES
    or COMMANDS[name] and COMMANDS[name].complete and COMMANDS[name].complete(words)
  return vim.tbl_filter(function(candidate) return vim.startswith(candidate, lead) end, candidates or {})
end

return M
