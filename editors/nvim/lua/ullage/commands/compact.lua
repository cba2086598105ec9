local session = require('ullage.session')

---@type ullage.Command
return {
  summary = 'Compact the context now; words say what to keep above all',
  -- What it did is told by the compaction's own notice.
  run = function(words)
    require('ullage.context').watch()
    session.request('context/compact', { focus = words }, require('ullage.notices').failed)
  end,
}
