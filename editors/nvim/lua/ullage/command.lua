-- `:Ullage`: one command. Each subcommand is a file of `ullage/commands/`.
local M = {}

---@class ullage.Command
---@field summary string one line, for completion plugins and the help
---@field run fun(words: string, call: table) `words` is all text after the subcommand
---@field complete? fun(lead: string, words: string): string[] candidates for the next word

M.NAMES = {
  'ask',
  'cancel',
  'choose',
  'compact',
  'context',
  'export',
  'fork',
  'from',
  'import',
  'log',
  'new',
  'pin',
  'preview',
  'restart',
  'restore',
  'search',
  'stop',
  'switch',
  'undo',
  'upto',
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
    local known = table.concat(M.NAMES, ', ')
    require('ullage.notices').error((':Ullage %s does not exist; there are %s.'):format(name, known))
    return
  end
  local fine, fault = pcall(function()
    require('ullage').start()
    load(name).run(words, call)
  end)
  if not fine then
    vim.notify(tostring(fault), vim.log.levels.ERROR, { title = 'Ullage' })
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
