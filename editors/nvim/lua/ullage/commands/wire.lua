---@type ullage.Command
return {
  summary = 'Have an agent run Ullage, which gives back what its compactions leave out',
  without_server = true,
  run = function(words)
    local params = {}
    for word in words:gmatch('%S+') do
      if word == 'statusline' then
        params.statusLine = true
      elseif params.agent then
        require('ullage.notices').error(':Ullage wire takes one agent, and the word statusline.')
        return
      else
        params.agent = word
      end
    end
    require('ullage.wiring').propose('agents/wire', params, 'runs Ullage already.')
  end,
  complete = function()
    return vim.list_extend(require('ullage.wiring').words('agents/wire'), { 'statusline' })
  end,
}
