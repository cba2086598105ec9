-- Errors as values: a kind for programs, one line for the user.
local M = {}

---@class ullage.Error
---@field kind string `data.kind` of the protocol, or one of this plugin's own: `InvalidOption`, `ServerNotFound`, `ServerStopped`, `NoSession`
---@field message string one clear line with its remedy
---@field code? integer
local Error = {
  __tostring = function(self) return self.message end,
}

---@return ullage.Error
function M.new(kind, message, code) return setmetatable({ kind = kind, message = message, code = code }, Error) end

---Converts an error of the wire (`{code, message, data = {kind}}`).
function M.from_wire(wire)
  local data = type(wire.data) == 'table' and wire.data or {}
  return M.new(data.kind or 'RpcError', wire.message or 'the server gave no reason', wire.code)
end

function M.no_session()
  local remedy = ':Ullage agents lists those of this machine, :Ullage import takes a file.'
  return M.new('NoSession', 'No conversation is open. ' .. remedy)
end

return M
