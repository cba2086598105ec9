-- The plugin's events and their listeners: `usage`, `session`, `edited`, `compaction`, `notice`, `server`, `following` and
-- `followed`.
local M = {}

---@type table<string, function[]>
local listeners = {}

function M.on(name, listener)
  listeners[name] = listeners[name] or {}
  table.insert(listeners[name], listener)
  return function()
    listeners[name] = vim.tbl_filter(function(other) return other ~= listener end, listeners[name])
  end
end

---Returns a function that calls `work` once for all its calls in one turn of the loop.
function M.once_a_turn(work)
  local is_due = false
  return function()
    if not is_due then
      is_due = true
      vim.schedule(function()
        is_due = false
        work()
      end)
    end
  end
end

---Calls all listeners in the order in which they were added.
function M.emit(name, ...)
  for _, listener in ipairs(listeners[name] or {}) do
    listener(...)
  end
end

return M
