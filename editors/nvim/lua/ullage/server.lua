-- Finds the server: the option `cmd`, then $ULLAGE_SERVER, then `ullage` on PATH.
local M = {}

M.REMEDY = 'Install it with `pipx install ".[all]"` or `uv tool install ".[all]"` in a checkout of Ullage, '
  .. 'or set `cmd` in setup() or $ULLAGE_SERVER to its path.'

---@class ullage.ServerCommand
---@field cmd string[]
---@field from string where it was found

---@return ullage.ServerCommand
local function candidate()
  local config = require('ullage.config').get()
  if config.cmd then
    return { cmd = vim.deepcopy(config.cmd), from = 'option cmd' }
  end
  local named = vim.env.ULLAGE_SERVER
  if named and named ~= '' then
    return { cmd = { vim.fs.normalize(named), 'lsp' }, from = '$ULLAGE_SERVER' }
  end
  return { cmd = { 'ullage', 'lsp' }, from = 'PATH' }
end

---Returns the command to start, or why there is none.
---Whether a store is in a PostgreSQL database, not in a file.
---@param store string
---@return boolean
function M.is_address(store)
  return vim.startswith(store, 'postgresql://') or vim.startswith(store, 'postgres://')
end

---@return ullage.ServerCommand?
---@return ullage.Error?
function M.find()
  local found = candidate()
  if vim.fn.executable(found.cmd[1]) == 0 then
    local text = ("Ullage's server was not found: %s (%s) cannot be run. %s"):format(found.cmd[1], found.from, M.REMEDY)
    return nil, require('ullage.errors').new('ServerNotFound', text)
  end
  local store = require('ullage.config').get().store
  if store then
    vim.list_extend(found.cmd, { '--store', M.is_address(store) and store or vim.fs.normalize(store) })
  end
  return found
end

return M
