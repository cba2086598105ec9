local notices = require('ullage.notices')

local function search(words)
  require('ullage.session').request('context/search', { query = words, limit = 50 }, function(error, result)
    if notices.failed(error) then
      return
    elseif #result.hits == 0 then
      notices.say(vim.trim(('Nothing was said about “%s”. %s'):format(words, result.note)))
    else
      require('ullage.context').show_hits(words, result)
    end
  end)
end

---@type ullage.Command
return {
  summary = 'Find words in everything ever said, archived or not',
  run = function(words)
    if words ~= '' then
      search(words)
      return
    end
    vim.ui.input({ prompt = 'Search the conversation: ' }, function(typed)
      if typed and vim.trim(typed) ~= '' then
        search(typed)
      end
    end)
  end,
}
