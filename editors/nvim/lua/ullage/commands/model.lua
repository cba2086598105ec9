local notices = require('ullage.notices')
local session = require('ullage.session')

---@type ullage.Command
return {
  summary = 'Show the session’s model, or change it',
  run = function(name)
    if name ~= '' then
      session.request('session/append', { model = name }, function(error, result)
        if not notices.failed(error) then
          session.edited(result.usage)
          notices.say(('The model is %s.'):format(name))
        end
      end)
      return
    end
    session.request('context/get', {}, function(error, result)
      if not notices.failed(error) then
        local figures = require('ullage.session.figures').read(result)
        notices.say(figures.model == '' and 'The session names no model.' or ('The model is %s.'):format(figures.model))
      end
    end)
  end,
  complete = function()
    return vim.tbl_keys(require('ullage.config').get().settings.models or {})
  end,
}
