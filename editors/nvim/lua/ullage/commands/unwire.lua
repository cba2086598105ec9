---@type ullage.Command
return {
  summary = "Take Ullage out of an agent's settings again",
  without_server = true,
  run = function(word)
    local params = { agent = word ~= '' and word or nil }
    require('ullage.wiring').propose('agents/unwire', params, 'does not run Ullage.')
  end,
  complete = function()
    return require('ullage.wiring').words('agents/unwire')
  end,
}
