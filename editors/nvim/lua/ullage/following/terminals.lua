-- Neovim's terminals: which processes run in them, and in which folder.
local M = {}

-- Generations of processes between a terminal's shell and an agent: a shell, a package manager, a runtime, a wrapper.
local DEEPEST = 8

---Whether a process is another one, or was started by it or by one of its descendants.
---@param deepest? integer generations
function M.descends(process_id, ancestor, deepest)
  deepest = deepest or DEEPEST
  return process_id == ancestor
    or deepest > 0
      and vim
        .iter(vim.api.nvim_get_proc_children(ancestor))
        :any(function(child) return M.descends(process_id, child, deepest - 1) end)
end

---Returns the process of a buffer's terminal, or nil if the buffer has none or its job has ended.
function M.job(buffer)
  if not vim.api.nvim_buf_is_valid(buffer) or vim.bo[buffer].buftype ~= 'terminal' then return nil end
  local fine, process_id = pcall(vim.fn.jobpid, vim.bo[buffer].channel)
  return fine and process_id or nil
end

---Returns the folder of a terminal: where its job is now if the system says so, else where it was started.
function M.folder(buffer)
  local job = M.job(buffer)
  local now = job and vim.uv.fs_readlink(('/proc/%d/cwd'):format(job))
  local begun = vim.api.nvim_buf_get_name(buffer):match('^term://(.-)//%d+:')
  return now or begun and vim.fn.fnamemodify(vim.fs.normalize(begun), ':p'):gsub('(.)/$', '%1') or nil
end

---Returns the terminal in which a process runs, or nil if it runs in none of this Neovim.
---@return integer? buffer
function M.of(process_id)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local job = M.job(buffer)
    if job and M.descends(process_id, job) then return buffer end
  end
end

---Returns what the current window shows, for `ullage.following.rows`.
---@return ullage.Place
function M.place()
  local buffer = vim.api.nvim_get_current_buf()
  local place = { folder = vim.uv.fs_realpath(vim.uv.cwd() or '') or '' }
  local job = M.job(buffer)
  if job then
    place.terminal_folder = M.folder(buffer)
    function place.runs(process_id) return M.descends(process_id, job) end
  end
  return place
end

return M
