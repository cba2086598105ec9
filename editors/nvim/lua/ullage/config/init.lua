-- The options in force. `setup()` and `vim.g.ullage` override the defaults; neither is required.
local M = {}

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
  return vim.tbl_deep_extend('force', require('ullage.config.defaults'), options)
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
