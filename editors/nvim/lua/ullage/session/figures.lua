-- Figures of the wire as the plugin's parts read them.
local words = require('ullage.words')

local M = {}

---@class ullage.Figures
---@field used integer
---@field size? integer nil while the model's window is unknown
---@field percent? integer
---@field source 'reported'|'estimated'|'stale'
---@field level 'off'|'normal'|'warning'|'critical'
---@field usable? integer
---@field warn_at? integer
---@field compact_at? integer
---@field compact_percent? integer of the window
---@field breakdown table<string, integer>
---@field model string
---@field active integer
---@field archived integer
---@field compactions integer
---@field reported_at? integer
---@field as_of? integer the transcript's own time of its last message or report, in Unix milliseconds
---@field window? ullage.KnownWindow how the window is known
---@field threshold? ullage.KnownThreshold how `compact_at` is known
---@field remarks ullage.Remark[] why no threshold is known, or what speaks against it
---@field managed_by? ullage.Keeper who keeps the context within its window
---@field agent? string the agent that has the conversation; nil if Ullage's client has it
---@field followed? { agent: string, path: string } whose conversation it is, if an agent has it and Ullage only reads it
---@field calls_left? ullage.CallsLeft model calls until `compact_at`
---@field hidden? string what to call the part `overhead` of the breakdown
---@field pending integer
---@field error_share? number
---@field cost? ullage.Cost nil if a price is not known

---Converts figures of the wire: `used` and `size` next to `_meta.ullage`.
---@param wire table
---@return ullage.Figures
function M.read(wire)
  local meta = wire._meta.ullage
  local breakdown = meta.breakdown
  local used = wire.used
  if not used then
    used = 0
    for _, tokens in pairs(breakdown) do
      used = used + tokens
    end
  end
  local size = wire.size
  local compact_at = meta.threshold and meta.threshold.tokens or meta.compactAt
  return {
    used = used,
    size = size,
    percent = size and (meta.percent or words.percent(used, size)),
    source = meta.source,
    level = meta.level,
    usable = meta.usable,
    warn_at = meta.warnAt,
    compact_at = compact_at,
    compact_percent = size and compact_at and words.percent(compact_at, size),
    breakdown = breakdown,
    model = meta.model,
    active = meta.messagesActive,
    archived = meta.messagesArchived,
    compactions = meta.compactions,
    reported_at = meta.reportedAt,
    as_of = meta.asOf,
    window = meta.window,
    threshold = meta.threshold,
    remarks = meta.remarks or {},
    managed_by = meta.managedBy,
    agent = meta.agent ~= '' and meta.agent or nil,
    followed = meta.followed,
    calls_left = meta.callsLeft,
    hidden = meta.hidden and meta.hidden.name ~= '' and meta.hidden.name or nil,
    pending = meta.pendingMessages,
    error_share = meta.errorShare,
    cost = wire.cost,
  }
end

return M
