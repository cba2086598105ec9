local notices = require('ullage.notices')

local function search(words)
  require('ullage.client').request('team/search', { query = words, limit = 20 }, function(error, result)
    if notices.failed(error) then
      return
    elseif #result.hits == 0 then
      notices.say(('The team’s archive has nothing about “%s”.'):format(words))
    else
      require('ullage.team').show(words, result)
    end
  end)
end

---@type ullage.Command
return {
  summary = 'Find words in what your team shares',
  run = function(words)
    if words ~= '' then
      search(words)
      return
    end
    vim.ui.input({ prompt = 'Search what the team shares: ' }, function(typed)
      if typed and vim.trim(typed) ~= '' then
        search(typed)
      end
    end)
  end,
}
