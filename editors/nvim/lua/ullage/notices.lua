-- Notices for the user, and the choices that belong to them.
local commandline = require('ullage.commandline')
local events = require('ullage.events')
local journal = require('ullage.journal')

local M = {}

local LEVELS = { info = vim.log.levels.INFO, warning = vim.log.levels.WARN, error = vim.log.levels.ERROR }
LEVELS.off = vim.log.levels.OFF

---@class ullage.Choice
---@field label string
---@field run fun()

---The last notice that offered choices.
---@type { text: string, choices: ullage.Choice[] }?
M.offer = nil

---Shows a text whatever the options say.
---@param text string
---@param hint string
---@param level integer of `vim.log.levels`
function M.show(text, hint, level)
  if not commandline.owns(vim.notify) then
    vim.notify(text .. hint, level, { title = 'Ullage' })
    return
  end
  -- The notices before are in |:messages|, and in `:Ullage log`.
  vim.cmd.redraw()
  vim.notify(commandline.fit(text, hint, level >= LEVELS.warning and ' (:Ullage log)' or nil), level)
end

---@param text string
---@param severity? 'info'|'warning'|'error'
---@param hint? string says what can be done, at the end
function M.say(text, severity, hint)
  severity, hint = severity or 'info', hint or ''
  journal.write('%s: %s', severity, text .. hint)
  local level = LEVELS[severity] or LEVELS.info
  if level >= LEVELS[require('ullage.config').get().notices.level] then
    M.show(text, hint, level)
  end
end

---@param text string
function M.error(text)
  M.say(text, 'error')
end

---@type string what was said of a server that is not there
local told = ''

---Shows an `ullage.Error`, for callbacks that only have to report it. Several requests can fail for one reason, which is
---shown once.
---@param error ullage.Error?
---@return boolean failed
function M.failed(error)
  if error and error.kind == 'ServerStopped' and error.message == told then
    return true
  end
  if error then
    told = error.kind == 'ServerStopped' and error.message or ''
    vim.schedule(function()
      told = ''
    end)
    -- A request that had nothing to do has not failed.
    local harmless = error.kind == 'NothingToCompact' or error.kind == 'NothingToUndo' or error.kind == 'NoSession'
    M.say(error.message, harmless and 'info' or 'error')
  end
  return error ~= nil
end

---Shows what a compaction did differently from what was asked. The rest is in the compaction's own notice.
---@param error ullage.Error?
---@param result ullage.CompactResult
function M.compacted(error, result)
  if not M.failed(error) and result.note ~= '' then
    M.say(result.note)
  end
end

local function command(line)
  return function()
    -- As values: a line break in foreign text must not begin a command.
    vim.cmd.Ullage({ args = { line } })
  end
end

---The choices of each kind of notice.
local CHOICES = {
  context_warning = function()
    return {
      { label = 'Compact now', run = command('compact') },
      { label = 'Preview', run = command('preview') },
      { label = 'Not for this session', run = M.mute },
    }
  end,
  compaction_due = function()
    return {
      { label = 'Compact now', run = command('compact') },
      { label = 'Preview', run = command('preview') },
      { label = 'Not now', run = function() end },
    }
  end,
  compaction_complete = function(notice)
    return {
      { label = 'Show', run = command('context') },
      { label = 'Undo', run = command('undo ' .. (notice.edit_id or '')) },
    }
  end,
  breaker_opened = function()
    return { { label = 'Show', run = command('context') }, { label = 'Compact now', run = command('compact') } }
  end,
  compaction_failed = function()
    return { { label = 'Try again', run = command('compact') }, { label = 'Show log', run = command('log') } }
  end,
}
CHOICES.context_cleared = CHOICES.compaction_complete
CHOICES.offline_summary_used = CHOICES.compaction_complete

---@type table<string, true> sessions for which no more warnings are shown
local muted = {}

function M.mute()
  local active = require('ullage.session').active
  if active then
    muted[active.id] = true
    M.say('No more warnings for this session. It still compacts by itself.')
  end
end

---Opens the choices of the last notice.
function M.choose()
  if not M.offer then
    M.say('There is nothing to choose.')
    return
  end
  local options = {
    prompt = M.offer.text,
    format_item = function(choice)
      return choice.label
    end,
  }
  commandline.select(M.offer.choices, options, function(choice)
    if choice then
      choice.run()
    end
  end)
end

local function is_muted(notice)
  local active = require('ullage.session').active
  return notice.kind == 'context_warning' and active and muted[active.id]
end

local function take(notice)
  if is_muted(notice) then
    return
  end
  local choices = CHOICES[notice.kind]
  if not choices then
    M.say(notice.text, notice.severity)
    return
  end
  M.offer = { text = notice.text, choices = choices(notice) }
  if require('ullage.config').get().notices.choices == 'prompt' and vim.fn.mode() == 'n' then
    journal.write('%s: %s', notice.severity, notice.text)
    M.choose()
  else
    M.say(notice.text, notice.severity, ' (:Ullage choose)')
  end
end

function M.setup()
  events.on('notice', vim.schedule_wrap(take))
end

return M
