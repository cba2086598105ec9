-- Finds the server: the option `cmd`, then $ULLAGE_SERVER, then `ullage` on PATH.
local M = {}

M.REMEDY = 'Install it with `pipx install .` in a checkout of Ullage, '
  .. 'or set `cmd` in setup() or $ULLAGE_SERVER to its path.'

---@class ullage.ServerCommand
---@field cmd string[]
---@field from string where it was found

---Whether a store is in a PostgreSQL database, not in a file.
function M.is_address(store) return vim.startswith(store, 'postgresql://') or vim.startswith(store, 'postgres://') end

---Returns the command to start, or why there is none.
---@return ullage.ServerCommand?
---@return ullage.Error?
function M.find()
  local config, named = require('ullage.config').get(), vim.env.ULLAGE_SERVER
  local found = { cmd = { 'ullage', 'lsp' }, from = 'PATH' }
  if config.cmd then
    found = { cmd = vim.deepcopy(config.cmd), from = 'option cmd' }
  elseif named and named ~= '' then
    found = { cmd = { vim.fs.normalize(named), 'lsp' }, from = '$ULLAGE_SERVER' }
  end
  if vim.fn.executable(found.cmd[1]) == 0 then
    local text = ("Ullage's server was not found: %s (%s) cannot be run. %s"):format(found.cmd[1], found.from, M.REMEDY)
    return nil, require('ullage.errors').new('ServerNotFound', text)
  end
  local store = config.store
  if store then vim.list_extend(found.cmd, { '--store', M.is_address(store) and store or vim.fs.normalize(store) }) end
  return found
end

return M
