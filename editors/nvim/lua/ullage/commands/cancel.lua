---@type ullage.Command
return {
  summary = 'Stop the compaction that is running, or the preparing of a new session',
  run = function()
    if require('ullage.waiting').cancel() then
      return
    end
    local session = require('ullage.session')
    if not session.running then
      require('ullage.notices').say('Nothing is running.')
      return
    end
    session.request('session/cancel', {}, function(error)
      if not require('ullage.notices').failed(error) then
        require('ullage.notices').say('Cancelled. The context is as it was.')
      end
    end)
  end,
}
