-- The live file, which the process that follows the agents' conversations writes next to the store. It is only read.
local events = require('ullage.events')
local rows = require('ullage.following.rows')

local M = {}

---@type ullage.Followed[] the newest change first
M.rows = {}
---@type integer? the process that follows the conversations and writes the file
M.writer = nil
---@type boolean whether that process tells the user what is due by notifications of the operating system
M.on_desktop = false

-- Milliseconds between two looks at the file. A change is heard of at once where the system tells of it.
local INTERVAL = 2000
local VERSION = 1

local timer, watcher, watched
---@type string? the file's identity when it was last read
local seen
---@type integer? the minute of the last look
local seen_minute
---@type boolean whether the file was kept up to date at the last look
local was_written = false

---Returns a file in the user's data folder, as Python's platformdirs names it.
local function in_data_folder(name)
  local named = vim.env.XDG_DATA_HOME
  local xdg = named and vim.startswith(named, '/') and named or nil
  if vim.fn.has('win32') == 1 then
    return vim.fs.normalize(vim.env.LOCALAPPDATA or '~/AppData/Local') .. '/ullage/' .. name
  elseif vim.fn.has('mac') == 1 and not xdg then
    return vim.fs.normalize('~/Library/Application Support/ullage/') .. '/' .. name
  end
  return vim.fs.normalize(xdg or '~/.local/share') .. '/ullage/' .. name
end

---Returns with what the files begin that are kept on this machine for the store of this Neovim's server.
local function store()
  local config = require('ullage.config').get()
  local chosen = config.store
  for number, word in ipairs(config.cmd or {}) do
    chosen = chosen or word:match('^%-%-store=(.+)') or (word == '--store' and config.cmd[number + 1]) or nil
  end
  chosen = chosen or vim.env.ULLAGE_STORE or (config.settings or {}).store
  if not chosen or chosen == '' then return in_data_folder('sessions.db') end
  if require('ullage.server').is_address(chosen) then
    -- The server's rule: `_` for each byte that not every file system has in names.
    return in_data_folder((chosen:gsub('[^%w._-]', '_')))
  end
  return vim.fn.fnamemodify(vim.fs.normalize(chosen), ':p')
end

function M.path() return store() .. '.live.json' end

---Whether a process is there. One of another user is.
local function is_running(process_id)
  local _, _, code = vim.uv.kill(process_id, 0)
  return code ~= 'ESRCH'
end

---Whether a process follows the conversations, so that their figures are kept up to date.
function M.is_written() return M.writer ~= nil and is_running(M.writer) end

---Reads the file; none of its rows are known if it cannot be read or is of a newer version.
local function read(path)
  local file = io.open(path, 'rb')
  local fine, value = pcall(vim.json.decode, file and file:read('*a') or '', { luanil = { object = true } })
  if file then file:close() end
  local known = fine and type(value) == 'table' and value.version == VERSION and value or {}
  M.rows = rows.read(known.sessions)
  M.writer = type(known.follower) == 'number' and known.follower or nil
  M.on_desktop = known.desktop == true
end

---Marks all rows if nobody follows them any more.
local function unfollow()
  if M.is_written() then return end
  for _, row in ipairs(M.rows) do
    if not row.unfollowed then rows.unfollow(row) end
  end
end

---Marks the rows whose process has ended: live no more, whatever the file says. Returns whether any was live.
local function bury()
  local buried = false
  for _, row in ipairs(M.rows) do
    if row.live and row.process_id and not is_running(row.process_id) then
      row.live, row.nearness, buried = false, 'far', true
    end
  end
  return buried
end

---Reads the file if it is another one than before, and publishes `following` if anything has changed: the rows, or
---whether a process keeps them up to date.
function M.look()
  local path = M.path()
  local status = vim.uv.fs_stat(path)
  local identity = status
    and ('%s %d %d %d %d'):format(path, status.ino, status.size, status.mtime.sec, status.mtime.nsec)
  local changed = identity ~= seen
  if changed then
    seen = identity
    read(path)
  end
  local is_written = M.is_written()
  unfollow()
  -- Ages are shown in minutes, and what is a day old is shown no more.
  local minute = math.floor(os.time() / 60)
  if bury() or changed or is_written ~= was_written or minute ~= seen_minute then
    was_written, seen_minute = is_written, minute
    events.emit('following')
  end
end

local look_soon = events.once_a_turn(M.look)

local function unwatch()
  if watcher then
    watcher:stop()
    watcher:close()
  end
  watcher, watched = nil, nil
end

---Watches the file's folder, because the file is replaced at every change. Where that cannot be done, the timer does.
local function watch()
  local folder, name = vim.fs.dirname(M.path()), vim.fs.basename(M.path())
  if watched == folder or not vim.uv.fs_stat(folder) then return end
  unwatch()
  watched = folder
  watcher = vim.uv.new_fs_event()
  watcher:start(folder, {}, function(error, changed)
    if not error and (changed == nil or changed == name) then look_soon() end
  end)
end

---Begins to look at the file, unless that has begun. Something that shows its rows calls this.
function M.start()
  if timer then return end
  local function look()
    if timer then
      watch()
      M.look()
    end
  end
  timer = vim.uv.new_timer()
  timer:start(INTERVAL, INTERVAL, vim.schedule_wrap(look))
  look()
end

---Ends what `start` has begun: nothing shows the rows any more.
function M.stop()
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
  unwatch()
end

---Whether the file is looked at.
function M.is_started() return timer ~= nil end

return M
