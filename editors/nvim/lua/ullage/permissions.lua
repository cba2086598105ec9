-- Asks the user whether the model may make a tool call, when the server requests it.
local M = {}

---Runs `work` once the user is in normal mode, so that text typed elsewhere does not become an answer.
---@param title string
---@param work fun()
local function at_rest(title, work)
  if vim.fn.mode() == 'n' then
    work()
    return
  end
  require('ullage.notices').say(
    ('The model waits for your permission: %s. It is asked for in normal mode.'):format(title)
  )
  vim.api.nvim_create_autocmd('ModeChanged', { pattern = '*:n', once = true, callback = vim.schedule_wrap(work) })
end

---The answer that permits nothing.
---@param options ullage.PermissionOption[]
local function rejecting(options)
  for _, option in ipairs(options) do
    if option.kind == 'reject_once' then
      return option
    end
  end
end

---Returns the user's answer. A list that is closed without a choice permits nothing. Must be called in a coroutine,
---as Neovim calls the handlers of the server's requests, because it waits for the choice without blocking the editor.
---@param params ullage.RequestPermissionParams
---@return ullage.RequestPermissionResult
function M.ask(params)
  local asking, title = coroutine.running(), params.toolCall.title
  local how = {
    prompt = ('The model asks: %s?'):format(title),
    format_item = function(option)
      return option.name
    end,
  }
  at_rest(title, function()
    require('ullage.commandline').select(params.options, how, function(option)
      -- A picker may answer before the coroutine has begun to wait.
      vim.schedule(function()
        coroutine.resume(asking, option or rejecting(params.options))
      end)
    end)
  end)
  local chosen = coroutine.yield()
  return { outcome = { outcome = 'selected', optionId = chosen and chosen.optionId } }
end

return M
