"""What one tenant notices while another attacks the server that both use."""
