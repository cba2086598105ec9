---@type ullage.Command
return {
  summary = 'Start a session that shares this one’s past',
  run = function(words)
    local notices = require('ullage.notices')
    require('ullage.session').fork(words, function(error, result)
      if not notices.failed(error) then
        notices.say(('Forked: %s. :Ullage switch leads back.'):format(result.title))
      end
    end)
  end,
}
