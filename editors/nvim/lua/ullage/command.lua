-- `:Ullage`: one command. Each subcommand is a file of `ullage/commands/`.
local M = {}

---@class ullage.Command
---@field summary string one line, for completion plugins and the help
---@field range? boolean it takes lines, for example a selection
---@field without_server? boolean it needs no server, or starts it itself
---@field edits? boolean it changes the active session, which cannot be done if an agent has it
---@field run fun(words: string, call: table) `words` is all text after the subcommand
---@field complete? fun(lead: string, words: string): string[] candidates for the next word

M.NAMES = {
  'agents',
  'ask',
  'cancel',
  'choose',
  'compact',
  'context',
  'continue',
  'delete',
  'export',
  'fork',
  'from',
  'import',
  'log',
  'lost',
  'model',
  'new',
  'pin',
  'preview',
  'rename',
  'restart',
  'restore',
  'search',
  'stop',
  'switch',
  'team',
  'undo',
  'unwire',
  'upto',
  'window',
  'wire',
}

---@param name string
---@return ullage.Command
local function load(name)
  return require('ullage.commands.' .. name)
end

local function starting_with(lead, names)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

---@param call table the argument of |nvim_create_user_command()|'s callback
function M.run(call)
  local name, words = call.args:match('^(%S*)%s*(.-)%s*$')
  name = name == '' and 'context' or name
  if not vim.tbl_contains(M.NAMES, name) then
    require('ullage.notices').error((':Ullage %s does not exist; :Ullage <Tab> lists the commands.'):format(name))
    return
  end
  local command = load(name)
  if (call.range or 0) > 0 and not command.range then
    require('ullage.notices').error(
      (':Ullage %s takes no lines. Without a selection it is about the session.'):format(name)
    )
    return
  end
  local fine, fault = pcall(function()
    if not command.without_server then
      require('ullage').start()
    end
    if not (command.edits and require('ullage.following').refuse()) then
      command.run(words, call)
    end
  end)
  if not fine then
    -- Shown whatever the options say: the fault may be in them.
    require('ullage.notices').show(tostring(fault), '', vim.log.levels.ERROR)
  end
end

---@param lead string the word under the cursor
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local name, words = line:sub(1, position):match('Ullage%s+(%S+)%s+(.*)$')
  if not name then
    return starting_with(lead, M.NAMES)
  elseif not vim.tbl_contains(M.NAMES, name) then
    return {}
  end
  local complete = load(name).complete
  return complete and starting_with(lead, complete(lead, words)) or {}
end

return M
