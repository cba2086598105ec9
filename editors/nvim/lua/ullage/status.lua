-- The statusline's text. It is computed when something changes, and only read when the statusline is drawn.
local client = require('ullage.client')
local events = require('ullage.events')
local choices = require('ullage.session.choices')
local following = require('ullage.following')
local session = require('ullage.session')
local words = require('ullage.words')

---@type { text: string, group: string, parts: ullage.StatusPart[] } the text, the group of what is most urgent in it,
---and the text's parts in their own groups
local M = { text = '', group = 'UllageNormal', parts = {} }

local GROUPS = { normal = 'UllageNormal', warning = 'UllageWarn', critical = 'UllageCritical', off = 'UllageNormal' }

---@param figures ullage.Figures
local function usage_text(figures)
  if not figures.size then return words.short(figures.used) .. ' · limit unknown' end
  local about = figures.source == 'reported' and '' or '~'
  local text = ('ctx %s%d%% %s/%s'):format(about, figures.percent, words.short(figures.used), words.short(figures.size))
  -- An agent may go on with what was imported from it.
  local is_old = figures.agent and figures.as_of and not figures.followed
  return is_old and ('%s, %s'):format(text, words.ago(figures.as_of)) or text
end

-- Milliseconds for which `✓ 164K → 31K` stays.
local DONE = 6000

---Returns what the server is busy with, or nil.
---@return string? text
---@return string? group
local function busy()
  local running = session.running
  if running then
    local written = #running.text > 0 and (' %s characters'):format(words.short(#running.text)) or ''
    return 'ctx compacting…' .. written, 'UllageBusy'
  elseif session.figures and session.done and vim.uv.now() - session.done.at < DONE then
    return '✓ ' .. words.shrinking(session.done.before, session.done.after), 'UllageDone'
  end
end

---Returns the rows of agents' conversations that are shown before, or instead of, the active session: those of the
---current terminal and the live ones of the folder, unless the user has chosen a session of another kind.
---@return ullage.Followed[]
local function followed()
  local active = session.active and following.row(session.active.id)
  local is_chosen = choices.in_force() > 0 and session.figures ~= nil
  if following.of == 'terminal' or following.of == 'folder' and (active or not is_chosen) then
    return following.shown
  elseif active then
    return { active }
  end
  return session.figures and {} or following.shown
end

---@return ullage.StatusPart[]
---@return string group
local function compose()
  local text, group = busy()
  if text then return { { text, group } }, group end
  local rows = followed()
  if #rows > 0 then
    return following.parts(rows)
  elseif client.state == 'stopped' then
    return { { 'Ullage: stopped', 'UllageError' } }, 'UllageError'
  elseif not session.figures or session.idle then
    -- Nothing is live here.
    local hints = following.is_open and not require('ullage.config').get().statusline.quiet
    return hints and { { 'Ullage: :Ullage agents', 'UllageNormal' } } or {}, 'UllageNormal'
  end
  group = GROUPS[session.figures.level] or 'UllageNormal'
  return { { usage_text(session.figures), group } }, group
end

local BETWEEN = ' · '

local redraw = events.once_a_turn(function()
  local lualine = package.loaded['lualine']
  if lualine then lualine.refresh() end
  vim.cmd.redrawstatus({ bang = true })
end)

---@return boolean changed
local function refresh()
  local parts, group = compose()
  if vim.deep_equal(parts, M.parts) then return false end
  local texts = vim.tbl_map(function(part) return part[1] end, parts)
  M.text, M.group, M.parts = table.concat(texts, BETWEEN), group, parts
  redraw()
  return true
end

---Returns the data of the `User UllageUsage` autocommand.
function M.data()
  local active = session.active or {}
  return vim.tbl_extend('force', session.figures or {}, {
    session_id = active.id,
    title = active.title,
    text = M.text,
    group = M.group,
    compacting = session.running ~= nil,
    agents = following.shown,
  })
end

---Publishes the data of the autocommand; `only_changes` if the place is new, which it is often, and its text seldom.
local function tell(only_changes)
  if refresh() or not only_changes then
    vim.api.nvim_exec_autocmds('User', { pattern = 'UllageUsage', modeline = false, data = M.data() })
  end
end

local function tell_if_changed() tell(true) end

function M.setup()
  local function always() tell(false) end
  events.on('usage', always)
  events.on('server', always)
  events.on('followed', tell_if_changed)
  events.on('session', tell_if_changed)
  events.on('compaction', function(what)
    if what == 'chunk' then return refresh() end
    always()
    if what == 'completed' then vim.defer_fn(refresh, DONE + 10) end
  end)
end

---Returns the text in the levels' colours, for 'statusline' with `%{%…%}`. A normal text has the bar's own colours.
function M.coloured()
  local parts = vim.tbl_map(function(part)
    local text = (part[1]:gsub('%%', '%%%%'))
    return part[2] == 'UllageNormal' and text or ('%%#%s#%s%%*'):format(part[2], text)
  end, M.parts)
  return table.concat(parts, BETWEEN)
end

return M
