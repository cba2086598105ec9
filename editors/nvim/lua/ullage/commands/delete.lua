local notices = require('ullage.notices')
local session = require('ullage.session')
local sessions = require('ullage.sessions')
local words = require('ullage.words')

---@param entry ullage.ListedSession
local function confirm(entry)
  local question = ('Delete “%s” with its %s? This cannot be undone.'):format(
    sessions.title(entry),
    words.count(entry._meta.ullage.messages, 'message')
  )
  require('ullage.commandline').select({ 'Delete', 'Leave it' }, { prompt = question }, function(choice)
    if choice ~= 'Delete' then
      return
    end
    require('ullage.client').request('session/delete', { sessionId = entry.sessionId }, function(error)
      if notices.failed(error) then
        return
      end
      if session.active and session.active.id == entry.sessionId then
        session.leave()
      end
      notices.say(('Deleted “%s”.'):format(sessions.title(entry)))
    end)
  end)
end

---@type ullage.Command
return {
  summary = 'Delete a session, after a question',
  run = function(id)
    if id ~= '' then
      sessions.find(id, confirm)
    else
      sessions.choose('Delete a session', confirm)
    end
  end,
  complete = function()
    return sessions.ids()
  end,
}
