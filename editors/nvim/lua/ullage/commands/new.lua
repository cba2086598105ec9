---@type ullage.Command
return {
  summary = 'Start a session, for the model named or the default one',
  run = function(words)
    require('ullage').new_session({ model = words }, function(error)
      if not require('ullage.notices').failed(error) then
        require('ullage.notices').say('A new session. :Ullage ask asks the model.')
      end
    end)
  end,
  complete = function()
    return vim.tbl_keys(require('ullage.config').get().settings.models or {})
  end,
}
