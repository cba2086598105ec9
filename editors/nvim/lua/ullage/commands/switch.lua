local function go(id)
  require('ullage.session').load(id, function(error)
    require('ullage.notices').failed(error)
  end)
end

---@type ullage.Command
return {
  summary = 'Make another session the active one',
  run = function(id)
    if id ~= '' then
      go(id)
    else
      require('ullage.sessions').choose('Session', function(entry)
        go(entry.sessionId)
      end)
    end
  end,
  complete = function()
    return require('ullage.sessions').ids()
  end,
}
