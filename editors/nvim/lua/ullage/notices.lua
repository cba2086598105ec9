-- Notices for the user, with the commands that they offer.
local events = require('ullage.events')
local journal = require('ullage.journal')
local words = require('ullage.words')

local M = {}

local LEVELS = { info = vim.log.levels.INFO, warning = vim.log.levels.WARN, error = vim.log.levels.ERROR }
LEVELS.off = vim.log.levels.OFF

-- Cells. A notice on a narrower command line says nothing.
local SHORTEST = 20

---Whether a function is Neovim's own, which no plugin has replaced. Those that are built in have no file.
local function is_builtin(func)
  local source = debug.getinfo(func, 'S').source
  return source:find('^=?%?$') ~= nil
    or source:find('^@vim/') ~= nil
    or vim.startswith(source, '@' .. vim.env.VIMRUNTIME)
end

---Shows a text whatever the options say.
---@param level integer of `vim.log.levels`
---@param shorter? string[] the text where there is less room, the longest first
function M.show(text, hint, level, shorter)
  if not is_builtin(vim.notify) then return vim.notify(text .. hint, level, { title = 'Ullage' }) end
  -- One line, because Neovim's own notification would stop the user with a prompt. The whole is in `:Ullage log`.
  local line, room = text:gsub('%s*\n%s*', ' '), math.max(vim.v.echospace, SHORTEST)
  if hint == '' and level >= LEVELS.warning and vim.fn.strdisplaywidth(line) > room and room >= 2 * SHORTEST then
    hint = ' (:Ullage log)'
  end
  vim.cmd.redraw()
  -- What happens matters more than its figures, and than what can be done.
  for _, ending in ipairs(shorter and { hint, '' } or {}) do
    for _, whole in ipairs({ line, unpack(shorter) }) do
      if vim.fn.strdisplaywidth(whole .. ending) <= room then return vim.notify(whole .. ending, level) end
    end
  end
  vim.notify(words.fit(line, room - vim.fn.strdisplaywidth(hint)) .. hint, level)
end

---@param severity? 'info'|'warning'|'error'
---@param hint? string says what can be done, at the end
---@param shorter? string[] the text where there is less room, the longest first
function M.say(text, severity, hint, shorter)
  severity, hint = severity or 'info', hint or ''
  journal.write('%s: %s', severity, text .. hint)
  local level = LEVELS[severity] or LEVELS.info
  if level >= LEVELS[require('ullage.config').get().notices.level] then M.show(text, hint, level, shorter) end
end

function M.error(text) M.say(text, 'error') end

---@type string what was said of a server that is not there
local told = ''

---Shows an `ullage.Error`, for callbacks that only have to report it. Several requests can fail for one reason, which is
---shown once.
---@param error ullage.Error?
---@return boolean failed
function M.failed(error)
  if error and error.kind == 'ServerStopped' and error.message == told then return true end
  if error then
    told = error.kind == 'ServerStopped' and error.message or ''
    vim.schedule(function() told = '' end)
    -- A request that had nothing to do has not failed.
    local harmless = error.kind == 'NothingToCompact' or error.kind == 'NothingToUndo' or error.kind == 'NoSession'
    M.say(error.message, harmless and 'info' or 'error')
  end
  return error ~= nil
end

---Returns a callback that shows an error, or else calls `use` with the result.
---@param use fun(result: any)
---@return fun(error: ullage.Error?, result: any)
function M.reporting(use)
  return function(error, result)
    if not M.failed(error) then use(result) end
  end
end

-- What can be done about a notice, by its kind.
local HINTS = {
  context_warning = ' (:Ullage compact)',
  compaction_due = ' (:Ullage compact or preview)',
  compaction_complete = ' (:Ullage undo)',
  context_cleared = ' (:Ullage undo)',
  offline_summary_used = ' (:Ullage undo)',
  breaker_opened = ' (:Ullage compact)',
  compaction_failed = ' (:Ullage log)',
}

function M.setup()
  local function tell(notice)
    local figures = require('ullage.session').figures
    -- Of an agent's conversation the user is warned by its row, whether or not it is open here.
    if notice.kind == 'context_warning' and figures and figures.followed then return end
    M.say(notice.text, notice.severity, HINTS[notice.kind])
  end
  events.on('notice', vim.schedule_wrap(tell))
end

---Asks the user, and goes on only after a yes.
function M.confirm(prompt, yes, go)
  vim.ui.select({ yes, 'Leave it' }, { prompt = prompt }, function(choice)
    if choice == yes then go() end
  end)
end

---Copies a text into the unnamed register and, if there is one, into the system's clipboard. Returns a remark for the
---user, empty if all is as expected.
function M.copy(text)
  vim.fn.setreg('"', text)
  -- Without a provider for the system's clipboard, the unnamed register is all there is.
  if vim.fn.has('clipboard') == 0 then return ' into the unnamed register' end
  pcall(vim.fn.setreg, '+', text)
  return ''
end

return M
