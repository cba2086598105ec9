-- Who wants to know what. Names: `usage`, `session`, `compaction`, `notice`, `server`, `log`.
local M = {}

---@type table<string, table<function, true>>
local listeners = {}

---@param name string
---@param listener function
---@return fun() off
function M.on(name, listener)
  listeners[name] = listeners[name] or {}
  listeners[name][listener] = true
  return function()
    listeners[name][listener] = nil
  end
end

---@param name string
---@param ... any
function M.emit(name, ...)
  for listener in pairs(vim.deepcopy(listeners[name] or {}, true)) do
    listener(...)
  end
end

return M
