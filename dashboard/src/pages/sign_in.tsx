// Asked for when the broker answers 401: a token, kept for this tab only.
import { useState } from 'preact/hooks';
import { ask, token } from '../api';
import { useAction } from '../hooks';
import { Problem, TextField } from '../parts/basics';

export function SignInPage(props: { onSignedIn: () => void }) {
  const [text, setText] = useState('');
  const signIn = useAction(async () => {
    token.set(text.trim().replace(/^Bearer\s+/i, ''));
    try {
      await ask('whoAmI');
    } catch (problem) {
      token.set('');
      throw problem;
    }
    props.onSignedIn();
  });
  return (
    <main class="sign-in" id="main">
      <form class="card" onSubmit={(event) => { event.preventDefault(); signIn.run(); }}>
        <h1>Sign in</h1>
        <p class="muted">This broker asks for a token: one of your identity provider, or one made with <code>queen token create</code>. It stays in this tab and is forgotten when you close it.</p>
        <TextField label="Token" type="password" value={text} onInput={setText} required autofocus />
        {signIn.error && <Problem message={signIn.error} />}
        <footer><button type="submit" class="primary" disabled={signIn.busy}>Sign in</button></footer>
      </form>
    </main>
  );
}
