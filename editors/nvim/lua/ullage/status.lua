-- The statusline's text. It is computed when something changes, and only read when the statusline is drawn.
local client = require('ullage.client')
local events = require('ullage.events')
local session = require('ullage.session')
local words = require('ullage.words')

local M = { text = '', group = 'UllageNormal' }

local GROUPS = { normal = 'UllageNormal', warning = 'UllageWarn', critical = 'UllageCritical', off = 'UllageNormal' }

---@param figures ullage.Figures
local function usage_text(figures)
  if not figures.size then
    return words.short(figures.used) .. ' · limit unknown'
  end
  local about = figures.source == 'reported' and '' or '~'
  return ('ctx %s%d%% %s/%s'):format(about, figures.percent, words.short(figures.used), words.short(figures.size))
end

---@param running ullage.Running
local function compacting_text(running)
  local written = #running.text > 0 and (' %s characters'):format(words.short(#running.text)) or ''
  return 'ctx compacting…' .. written
end

local function just_done()
  local span = require('ullage.config').get().statusline.done_seconds * 1000
  return session.done and vim.uv.now() - session.done.at < span
end

---@return string text
---@return string group
local function compose()
  if client.state == 'stopped' then
    return 'Ullage: stopped', 'UllageError'
  elseif session.running then
    return compacting_text(session.running), 'UllageBusy'
  elseif not session.figures then
    return '', 'UllageNormal'
  elseif just_done() then
    return '✓ ' .. words.shrinking(session.done.before, session.done.after), 'UllageDone'
  end
  return usage_text(session.figures), GROUPS[session.figures.level] or 'UllageNormal'
end

local redraw_is_due = false

---Redraws once for all updates that came in one turn of the loop.
local function redraw()
  redraw_is_due = false
  local lualine = package.loaded['lualine']
  if lualine then
    lualine.refresh()
  end
  vim.cmd.redrawstatus({ bang = true })
end

local function refresh()
  local text, group = compose()
  if text == M.text and group == M.group then
    return
  end
  M.text, M.group = text, group
  if not redraw_is_due then
    redraw_is_due = true
    vim.schedule(redraw)
  end
end

---Returns the data of the `User UllageUsage` autocommand.
---@return table
function M.data()
  local active = session.active or {}
  return vim.tbl_extend('force', session.figures or {}, {
    session_id = active.id,
    title = active.title,
    text = M.text,
    group = M.group,
    compacting = session.running ~= nil,
  })
end

local function tell()
  refresh()
  vim.api.nvim_exec_autocmds('User', { pattern = 'UllageUsage', modeline = false, data = M.data() })
end

function M.setup()
  events.on('usage', tell)
  events.on('server', tell)
  events.on('compaction', function(what)
    if what == 'chunk' then
      refresh()
      return
    end
    tell()
    if what == 'completed' then
      vim.defer_fn(refresh, require('ullage.config').get().statusline.done_seconds * 1000 + 10)
    end
  end)
end

---Returns the text in the level's colour, for 'statusline' with `%{%…%}`.
---@return string
function M.coloured()
  if M.text == '' then
    return ''
  end
  return ('%%#%s#%s%%*'):format(M.group, (M.text:gsub('%%', '%%%%')))
end

return M
