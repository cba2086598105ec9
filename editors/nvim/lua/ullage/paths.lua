-- Paths that users type. `expand()` and completion run the command of a name with backticks, which a file of a foreign
-- folder may have.
local M = {}

---Returns the full path of what a user has typed. `%` and `#` are the files of buffers, with modifiers such as `%:r`.
function M.full(typed)
  local is_buffer = typed:find('^[%%#]%d*$') or typed:find('^[%%#]%d*:[%a~.:]+$')
  local path = is_buffer and vim.fn.expand(typed) or vim.fs.normalize(typed, { expand_env = not vim.uv.fs_stat(typed) })
  return vim.fn.fnamemodify(path, ':p')
end

---Returns the names of files that begin as the user has typed. There are none after a backtick.
function M.complete(lead) return lead:find('`', 1, true) and {} or vim.fn.getcompletion(lead, 'file') end

return M
