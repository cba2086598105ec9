---@type ullage.Command
return {
  summary = 'Start a session that shares this one’s past',
  run = function(words)
    local session, notices = require('ullage.session'), require('ullage.notices')
    session.request('session/fork', { title = words }, function(error, result)
      if not notices.failed(error) then
        session.activate(result)
        notices.say(('Forked: %s. :Ullage switch leads back.'):format(result.title))
      end
    end)
  end,
}
