package outgoing

import "net/netip"

// public reports whether an address is reachable from everywhere alike, by the IANA
// registries of special-purpose addresses.
func public(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false
	}
	if addr.Is4() {
		return !in(addr, "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
			"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
			"203.0.113.0/24", "224.0.0.0/3")
	}
	// Global unicast only, without addresses that carry an IPv4 address or are for
	// examples.
	return in(addr, "2000::/3") && !in(addr, "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}

func in(addr netip.Addr, prefixes ...string) bool {
	for _, p := range prefixes {
		if netip.MustParsePrefix(p).Contains(addr) {
			return true
		}
	}
	return false
}
