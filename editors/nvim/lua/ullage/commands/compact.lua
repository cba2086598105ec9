local session = require('ullage.session')

---@type ullage.Command
return {
  summary = 'Compact the context now; words say what to keep above all',
  -- The compaction's own notice shows the result.
  run = function(words)
    local following = require('ullage.following')
    local followed = following.current()
    if followed then
      require('ullage.following.compaction').offer(followed, words)
      return
    elseif following.refuse() then
      return
    end
    require('ullage.context').watch()
    session.request('context/compact', { focus = words }, require('ullage.notices').failed)
  end,
}
