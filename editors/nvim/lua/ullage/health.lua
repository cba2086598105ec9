-- `:checkhealth ullage`: whether everything is installed, and the steps of the first minutes.
local M = {}

local health = vim.health

local function check_editor()
  health.start('ullage: Neovim')
  health.ok('Neovim ' .. tostring(vim.version()))
  local faults = require('ullage.config').faults()
  for _, fault in ipairs(faults) do
    health.error(fault, { 'Correct it in setup() or vim.g.ullage; :help ullage-options lists them.' })
  end
  if #faults == 0 then health.ok('options are in order') end
  return #faults == 0
end

---Returns what a program prints, or an empty text if it does not run.
local function version(cmd)
  local fine, result = pcall(
    function() return vim.system({ cmd[1], '--version' }, { text = true, timeout = 10000 }):wait() end
  )
  return fine and result.code == 0 and (' (%s)'):format(vim.trim(result.stdout)) or ''
end

local function check_server()
  health.start('ullage: 1. Server found')
  local server, client = require('ullage.server'), require('ullage.client')
  local found, missing = server.find()
  if missing then return health.error(missing.message, { server.REMEDY, 'Then any :Ullage command starts it.' }) end
  health.ok(('%s, from %s%s'):format(table.concat(found.cmd, ' '), found.from, version(found.cmd)))
  if client.state == 'running' then
    local ours = (client.get().server_capabilities.experimental or {}).ullage
    health.ok('running' .. (ours and (', version ' .. ours.version) or ''))
  elseif client.state == 'stopped' then
    health.error('stopped: ' .. client.reason, { ':Ullage log shows why', 'Any :Ullage command starts it again.' })
  else
    health.info('not running yet; it starts at the first :Ullage or status()')
  end
end

local function check_statusline()
  health.start('ullage: 2. See the statusline')
  local used = vim.o.statusline:find('ullage', 1, true) or vim.o.winbar:find('ullage', 1, true)
  if used or package.loaded['lualine.components.ullage'] then
    local text, following = require('ullage').status(), require('ullage.following')
    local none = 'it is set up; it shows nothing, because no conversation is live here'
    local is_old = vim.iter(following.shown):any(function(row) return row.unfollowed end)
    local say = is_old and health.warn or health.ok
    say(text ~= '' and 'it shows: ' .. text .. (is_old and ', so the figure may be old' or '') or none)
  else
    health.info("lualine: sections = { lualine_x = { 'ullage' } }")
    health.info([[without it: vim.o.statusline = "%f %=%{%v:lua.require'ullage'.statusline()%}"]])
  end
end

local function check_agents()
  health.start("ullage: 3. Follow agents' conversations")
  local live_file, consent = require('ullage.following.live_file'), require('ullage.following.consent').given()
  live_file.look()
  if live_file.is_written() then
    local count = require('ullage.words').count(#live_file.rows, 'conversation')
    health.ok(('process %d follows %s and writes %s'):format(live_file.writer, count, live_file.path()))
  elseif consent then
    health.info("not followed yet; this Neovim's server follows them when the statusline is drawn")
  elseif consent == false then
    health.info('not followed, as you wished; :Ullage agents on follows them')
  else
    health.info('not followed; :Ullage agents asks whether to, and lists them')
  end
end

local function check_session()
  health.start('ullage: 4. Look at a conversation')
  local active = require('ullage.session').active
  if active then
    local title = require('ullage.words').plain(active.title)
    health.ok(('active: %s'):format(title ~= '' and title or active.id))
  else
    health.info(':Ullage agents opens one that is followed; :Ullage import takes any other, or a file')
  end
end

local function check_compaction()
  health.start('ullage: 5. Compact it, undo it')
  local figures, owner = require('ullage.session').figures, require('ullage.following').owner()
  if figures and owner then
    local text = '%s has the conversation, so it is only read; :Ullage continue goes on in a new session'
    health.info(text:format(owner))
  elseif figures and figures.compactions > 0 then
    health.ok(('%d compaction(s) in force; :Ullage undo takes the last one back'):format(figures.compactions))
  elseif figures and not figures.size then
    local model = figures.model ~= '' and figures.model or 'the model'
    health.warn(('the window of %s is not known, so nothing is compacted by itself'):format(model), {
      ('Set it in setup(): settings = { models = { ["%s"] = { window = 200000 } } }'):format(figures.model),
    })
  else
    health.info(':Ullage context shows it, :Ullage compact makes room, :Ullage undo takes that back')
  end
end

function M.check()
  if check_editor() then
    check_server()
    check_statusline()
    check_agents()
    check_session()
    check_compaction()
  end
end

return M
