---@type ullage.Command
return {
  summary = 'Ask the model; its answer comes in the conversation',
  edits = true,
  range = true,
  run = function(words, call)
    local prompt = require('ullage.prompt')
    local quoted = (call.range or 0) > 0 and prompt.quote(vim.api.nvim_get_current_buf(), call.line1, call.line2) or nil
    if words == '' then
      prompt.open(quoted)
    else
      prompt.send(quoted and words .. '\n\n' .. quoted or words)
    end
  end,
}
