-- Keeps the newest lines about what happened, in memory, for `:Ullage log`.
local M = {}

-- Lines: enough for a day's work.
local KEPT = 500
---@type string[]
local lines = {}

function M.write(text, ...)
  local line = select('#', ...) > 0 and text:format(...) or text
  lines[#lines + 1] = ('%s  %s'):format(os.date('%H:%M:%S'), (line:gsub('\n', ' ')))
  if #lines > KEPT then table.remove(lines, 1) end
end

---Returns the lines that the server wrote to standard error, from the end of Neovim's own log of language servers.
local function server_lines(program)
  local path, found = vim.lsp.log.get_filename(), {}
  for _, line in ipairs(vim.uv.fs_stat(path) and vim.fn.readfile(path, '', -KEPT) or {}) do
    local text = line:find(program, 1, true) and line:match('"stderr"%s+"(.*)"')
    if text then vim.list_extend(found, vim.split(text:gsub('\\t', '  '):gsub('\\n$', ''), '\\n', { plain = true })) end
  end
  return found
end

---`:Ullage log`
function M.show()
  local found = require('ullage.server').find()
  local shown = vim.list_extend({ 'Events', '' }, lines)
  vim.list_extend(shown, { '', 'Server', '', unpack(server_lines(found and found.cmd[1] or 'ullage')) })
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, require('ullage.window').scratch('ullage://log', shown))
end

return M
