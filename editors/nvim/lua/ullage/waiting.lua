-- A line that says what the user waits for, if the answer does not come at once.
local M = {}

-- Milliseconds. A line that comes and goes faster than this would only flicker.
local PATIENCE = 400

-- Cancels what the user waits for; nil if nothing that can be cancelled runs.
local running

---Cancels what the user waits for. Returns false if nothing that can be cancelled runs.
function M.cancel()
  local cancel = running
  running = nil
  if cancel then cancel() end
  return cancel ~= nil
end

---Shows a line on the command line after a moment.
---@param cancel? fun() cancels what is waited for
---@return fun() ends takes the line away; to be called once the answer is there
function M.begin(text, cancel)
  local is_over, is_shown = false, false
  running = cancel or running
  vim.defer_fn(function()
    -- A question that is open has the command line.
    if not is_over and vim.api.nvim_get_mode().mode:sub(1, 1) ~= 'c' then
      is_shown = true
      vim.api.nvim_echo({ { text, 'UllageBusy' } }, false, {})
    end
  end, PATIENCE)
  return function()
    is_over = true
    running = running ~= cancel and running or nil
    if is_shown then vim.api.nvim_echo({ { '' } }, false, {}) end
  end
end

return M
