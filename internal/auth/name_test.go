package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
)

// likeReserved are names that a person reads as a reserved one, or as another name.
func likeReserved() []string {
	return []string{
		"hub", "Hub", "AGENT", "device:1", "token:1", // as they are
		"ｈｕｂ", "𝐡𝐮𝐛", "ⓐⓖⓔⓝⓣ", "ᵃgent", "device：1", "ＴＯＫＥＮ︓1", // other widths and styles
		"h\u200bub", "h\u034fub", "hub\ufe0f", "\u3164hub", "ag\u115fent", "hub\U000e0101", "hub\u17b4", "\u202ehub", "age\u00adnt", "hub\u2066",
		"An\u200dn", "Ann\ufe0f", // invisible characters in others
	}
}

func TestNoTokenHasANameThatReadsLikeAReservedOne(t *testing.T) {
	t.Parallel()
	r, err := auth.Open(t.TempDir(), nil, nil)
	require.NoError(t, err)
	_, token, err := r.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: "Ann"})
	require.NoError(t, err)
	for _, name := range likeReserved() {
		_, _, err := r.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: name})
		require.ErrorIs(t, err, auth.ErrInvalid, "%+q", name)
		_, err = r.Rename(token.ID, name)
		require.ErrorIs(t, err, auth.ErrInvalid, "%+q", name)
	}
	for _, name := range []string{"Zoë", "Zoe\u0308", "李", "Anna's phone", "hubert", "my agent"} {
		_, _, err := r.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: name})
		require.NoError(t, err, name)
	}
}

func TestABrowserThatNamesItselfLikeAReservedOneIsCalledByItsID(t *testing.T) {
	t.Parallel()
	for _, name := range likeReserved() {
		r, err := auth.Open(t.TempDir(), nil, nil)
		require.NoError(t, err)
		code, err := r.MintPairingCode()
		require.NoError(t, err)
		_, grant, err := r.Redeem(code, name, "")
		require.NoError(t, err)
		if grant.Name[0] == 'A' { // Ann without its invisible character
			continue
		}
		require.Equal(t, "device:"+grant.ID, grant.Actor(), "%+q", name)
	}
}

func TestTwoBrowsersWhoseNamesReadTheSameGetNumbers(t *testing.T) {
	t.Parallel()
	r, err := auth.Open(t.TempDir(), nil, nil)
	require.NoError(t, err)
	var names []string
	for _, name := range []string{"Phone", "ｐｈｏｎｅ", "Pho\u200dne"} {
		code, err := r.MintPairingCode()
		require.NoError(t, err)
		_, grant, err := r.Redeem(code, name, "")
		require.NoError(t, err)
		names = append(names, grant.Name)
	}
	require.Equal(t, []string{"Phone", "ｐｈｏｎｅ 2", "Phone 3"}, names)
}
