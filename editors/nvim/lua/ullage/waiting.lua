-- A line that says what the user waits for, if the answer does not come at once.
local M = {}

-- Milliseconds. A line that comes and goes faster than this would only flicker.
local PATIENCE = 400

---Shows a line on the command line after a moment.
---@param text string
---@return fun() ends takes the line away; to be called once the answer is there
function M.begin(text)
  local is_over, is_shown = false, false
  vim.defer_fn(function()
    -- A question that is open has the command line.
    if not is_over and vim.api.nvim_get_mode().mode:sub(1, 1) ~= 'c' then
      is_shown = true
      vim.api.nvim_echo({ { text, 'UllageBusy' } }, false, {})
    end
  end, PATIENCE)
  return function()
    is_over = true
    if is_shown then
      vim.api.nvim_echo({ { '' } }, false, {})
    end
  end
end

return M
