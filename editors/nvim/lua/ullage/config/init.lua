-- The options in force. `setup()` and `vim.g.ullage` override the defaults; neither is required.
local M = {}

---@type ullage.Config
local DEFAULTS = {
  cmd = nil,
  store = nil,
  resume = true,
  follow = nil,
  -- Only settings that differ from the server's own defaults are sent.
  settings = {},
  context = { open = 'vsplit', keys = true },
  statusline = { done_seconds = 6, start = true, quiet = false },
  notices = { level = 'info' },
  -- As in other editors' language clients, a server that keeps failing is not restarted for ever.
  recovery = { attempts = 4, seconds = 180 },
}

---@type ullage.Config?
local current
---@type ullage.Options?
local given

local function user_options()
  local global = vim.g.ullage
  if type(global) == 'function' then
    global = global()
  end
  return given or global or {}
end

---@param options any
local function checked(options)
  local faults = require('ullage.config.validation').faults(options)
  if #faults > 0 then
    error(require('ullage.errors').new('InvalidOption', 'ullage: ' .. table.concat(faults, '\nullage: ')), 0)
  end
  return vim.tbl_deep_extend('force', DEFAULTS, options)
end

---Returns the options in force. Raises an `ullage.Error` of kind `InvalidOption` that names every fault by its path.
---@return ullage.Config
function M.get()
  current = current or checked(user_options())
  return current
end

---@param options? ullage.Options
function M.set(options)
  current = checked(options or {})
  given = options
end

---Returns the faults of the user's options, for |:checkhealth|.
---@return string[]
function M.faults()
  return require('ullage.config.validation').faults(user_options())
end

return M
