-- The words for what else an agent gets: the param, and its value.
local OPTIONS = {
  statusline = { 'statusLine', true },
  nostatusline = { 'statusLine', false },
  fillnotes = { 'fillNotes', true },
  nofillnotes = { 'fillNotes', false },
}

---@type ullage.Command
return {
  summary = 'Have an agent run Ullage, which gives back what its compactions leave out',
  without_server = true,
  run = function(words)
    local params = {}
    for word in words:gmatch('%S+') do
      local option = OPTIONS[word]
      if option then
        params[option[1]] = option[2]
      elseif params.agent then
        require('ullage.notices').error(
          ':Ullage wire takes one agent, and the words statusline and fillnotes, or no before them.'
        )
        return
      else
        params.agent = word
      end
    end
    require('ullage.wiring').propose('agents/wire', params, 'runs Ullage already.')
  end,
  complete = function()
    return vim.list_extend(require('ullage.wiring').words('agents/wire'), vim.fn.sort(vim.tbl_keys(OPTIONS)))
  end,
}
