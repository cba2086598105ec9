-- The options in force. `setup()` and `vim.g.ullage` override the defaults; neither is required.
local M = {}

---The options of `setup()` or `vim.g.ullage`. Every option may be left out.
---@class ullage.Options
---@field cmd? string[] the server's whole command; default `$ULLAGE_SERVER`, then `ullage` on PATH
---@field store? string the file or the PostgreSQL database (`postgresql://HOST/DATABASE`) in which sessions are kept; default: the server's own
---@field resume? boolean open the folder's last session when the server starts
---@field follow? boolean follow the conversations of this machine's coding agents; default: as answered in `:Ullage agents`
---@field settings? ullage.Settings the server's settings, see |ullage-settings|
---@field context? { open?: 'vsplit'|'split'|'tab'|'current', keys?: boolean } where buffers open; the conversation's keys
---@field statusline? { start?: boolean, quiet?: boolean } see |ullage-options|
---@field notices? { level?: 'info'|'warning'|'error'|'off' } the lowest level that is shown

---@type ullage.Options
local DEFAULTS = {
  resume = true,
  -- Only settings that differ from the server's own defaults are sent.
  settings = {},
  context = { open = 'vsplit', keys = true },
  statusline = { start = true, quiet = false },
  notices = { level = 'info' },
}

-- What each option must be: a type, one of some words, or a table of options.
M.RULES = {
  cmd = 'command',
  store = 'string',
  resume = 'boolean',
  follow = 'boolean',
  context = { open = { 'vsplit', 'split', 'tab', 'current' }, keys = 'boolean' },
  statusline = { start = 'boolean', quiet = 'boolean' },
  notices = { level = { 'info', 'warning', 'error', 'off' } },
  -- The server checks what is in it, and says what it refuses.
  settings = 'table',
}

---@type ullage.Options?
local current
---@type ullage.Options?
local given

---Returns what a value must be and is not, or nil.
---@param rule string|string[]
local function lacking(value, rule)
  if rule == 'command' then
    local fits = type(value) == 'table' and type(value[1]) == 'string'
    return not fits and 'a list of texts like { "ullage", "lsp" }' or nil
  elseif type(rule) == 'string' then
    return type(value) ~= rule and 'a ' .. rule or nil
  end
  return not vim.tbl_contains(rule, value) and ("one of '%s'"):format(table.concat(rule, "', '")) or nil
end

---Adds the faults of a value, each a line that begins with the option's path.
local function judge(path, value, rule, faults)
  local is_table = type(rule) == 'table' and not vim.islist(rule)
  local must = is_table and (type(value) ~= 'table' and 'a table' or nil) or not is_table and lacking(value, rule)
  if must then
    faults[#faults + 1] = ('%s must be %s, not %s'):format(path, must, vim.inspect(value))
    return
  end
  for key, inner in pairs(is_table and value or {}) do
    local name = path == 'the options' and tostring(key) or ('%s.%s'):format(path, key)
    if rule[key] then
      judge(name, inner, rule[key], faults)
    else
      local known = table.concat(vim.fn.sort(vim.tbl_keys(rule)), ', ')
      faults[#faults + 1] = ('%s is not an option; there are %s'):format(name, known)
    end
  end
end

local function user_options()
  local global = vim.g.ullage
  return given or (type(global) == 'function' and global() or global) or {}
end

---Returns the faults of options, in the order of their paths; of the user's own without an argument.
function M.faults(options)
  local faults = {}
  judge('the options', options == nil and user_options() or options, M.RULES, faults)
  return vim.fn.sort(faults)
end

local function checked(options)
  local faults = M.faults(options)
  if #faults > 0 then
    error(require('ullage.errors').new('InvalidOption', 'ullage: ' .. table.concat(faults, '\nullage: ')), 0)
  end
  return vim.tbl_deep_extend('force', DEFAULTS, options)
end

---Returns the options in force. Raises an `ullage.Error` of kind `InvalidOption` that names every fault by its path.
---@return ullage.Options
function M.get()
  current = current or checked(user_options())
  return current
end

---@param options? ullage.Options
function M.set(options)
  current = checked(options or {})
  given = options
end

return M
