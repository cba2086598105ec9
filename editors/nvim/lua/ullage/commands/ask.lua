local chat = require('ullage.chat')

local function ask(text)
  require('ullage.context').follow()
  chat.ask(text)
end

---@type ullage.Command
return {
  summary = 'Ask the model; its answer comes in the conversation',
  run = function(words)
    if words ~= '' then
      ask(words)
      return
    end
    vim.ui.input({ prompt = 'Ask: ', default = chat.unsent }, function(text)
      if text and vim.trim(text) ~= '' then
        ask(text)
      end
    end)
  end,
}
