-- Puts a text into the prompt of an agent that runs in a terminal, as a paste does.
local M = {}

---Returns a text as a terminal hands over what is pasted: between two marks, so that the agent takes a line break for a
---part of the text and not for Enter. Control characters are left out: one could end the paste early.
---@param text string
---@return string
function M.as_paste(text)
  -- Those of two bytes (U+0080 to U+009F) as well: a terminal may take U+009B for the beginning of a mark.
  local plain = text:gsub('\r\n', '\n'):gsub('[%z\1-\8\11-\31\127]', ''):gsub('\194[\128-\159]', '')
  return ('\27[200~%s\27[201~'):format((plain:gsub('\n', '\r')))
end

---Types a text of several lines into a terminal, and does not press Enter.
---@param buffer integer
---@param text string
function M.paste(buffer, text)
  vim.api.nvim_chan_send(vim.bo[buffer].channel, M.as_paste(text))
end

return M
