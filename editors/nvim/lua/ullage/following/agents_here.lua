-- Whether agents have conversations on this machine. Only the names of folders are looked at.
local M = {}

---Returns the agents' folder on this machine, or nil if an unset environment variable would name it.
---@param place string
local function located(place)
  for name in place:gmatch('%${([%w_]+)}') do
    if (vim.env[name] or '') == '' then return nil end
  end
  return vim.fs.normalize(place)
end

---@return string[]
local function places()
  local system = vim.fn.has('win32') == 1 and 'win32' or vim.fn.has('mac') == 1 and 'darwin' or 'linux'
  return require('ullage.following.agent_folders')[system]
end

---Whether a folder has anything in it. A place may be a file: a database, or a log.
local function holds_any(path)
  local status = vim.uv.fs_stat(path)
  return status ~= nil and (status.type ~= 'directory' or vim.fs.dir(path)() ~= nil)
end

function M.any()
  return vim.iter(places()):any(function(place)
    local path = located(place)
    return path ~= nil and holds_any(path)
  end)
end

return M
