(* Descent whose iterates stay secret: docs/theory.md 3.3 to 3.5. *)
From Coq Require Import Reals Lra Psatz List Arith.
From Dyad Require Import Space.
Open Scope R_scope.

Section Steps.
Context {S : Space}.
Implicit Types x d v w : S.

(* What 3.3 uses of a convex loss with an L-Lipschitz gradient: for two points x apart whose gradients are d apart, ||d||^2 <= L <d, x>.
   A pair's loss of 2.2 or 2.3 has d = s <v, x> v with 0 <= s and s ||v||^2 <= L, *)
Lemma pair_gradient L s v x : 0 <= s -> s * dot v v <= L ->
  dot (scale (s * dot v x) v) (scale (s * dot v x) v) <= L * dot (scale (s * dot v x) v) x.
Proof.
  intros P H; rewrite !dot_scale, dot_scaler.
  assert (Q : 0 <= s * (dot v x * dot v x)) by (apply Rmult_le_pos; [exact P | apply Rle_0_sqr]).
  nra.
Qed.

(* and a mean of such differences is one. *)
Lemma mean_of_two L p d d' x : 0 <= p <= 1 -> dot d d <= L * dot d x -> dot d' d' <= L * dot d' x ->
  dot (add (scale p d) (scale (1 - p) d')) (add (scale p d) (scale (1 - p) d')) <= L * dot (add (scale p d) (scale (1 - p) d')) x.
Proof.
  intros P A B; repeat (rewrite dot_add || rewrite dot_addr || rewrite dot_scale || rewrite dot_scaler).
  pose proof (dot_pos S (sub d d')) as Q; rewrite dot_sub_sub in Q; rewrite (dot_sym S d' d).
  assert (0 <= p * (1 - p) * (dot d d + dot d' d' - 2 * dot d d')) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra | exact Q]).
  assert (p * dot d d <= p * (L * dot d x)) by (apply Rmult_le_compat_l; lra).
  assert ((1 - p) * dot d' d' <= (1 - p) * (L * dot d' x)) by (apply Rmult_le_compat_l; lra).
  nra.
Qed.

Lemma square_le_of_abs y z : Rabs y <= z -> y * y <= z * z.
Proof. intros H; pose proof (Rabs_pos y); replace (y * y) with (Rabs y * Rabs y); [nra | unfold Rabs; destruct (Rcase_abs y); ring]. Qed.

(* A step w -> w - eta (grad f(w) + alpha w) has this Lipschitz constant. *)
Theorem contraction L alpha eta x d : 0 < L -> 0 <= alpha -> 0 < eta -> dot d d <= L * dot d x ->
  nrm (sub x (scale eta (add d (scale alpha x)))) <= Rmax (Rabs (1 - eta * alpha)) (Rabs (1 - eta * (L + alpha))) * nrm x.
Proof.
  intros PL PA PE H.
  set (m := Rmax (Rabs (1 - eta * alpha)) (Rabs (1 - eta * (L + alpha)))).
  assert (M : 0 <= m) by (eapply Rle_trans; [apply Rabs_pos | apply Rmax_l]).
  pose proof (square_le_of_abs _ _ (Rmax_l (Rabs (1 - eta * alpha)) (Rabs (1 - eta * (L + alpha))))) as A.
  pose proof (square_le_of_abs _ _ (Rmax_r (Rabs (1 - eta * alpha)) (Rabs (1 - eta * (L + alpha))))) as B; fold m in A, B.
  apply nrm_le; [apply Rmult_le_pos; [exact M | apply nrm_pos] |].
  replace (m * nrm x * (m * nrm x)) with (m * m * (nrm x * nrm x)) by ring; rewrite nrm_sqr.
  rewrite dot_sub_sub; repeat (rewrite dot_scale || rewrite dot_scaler || rewrite dot_add || rewrite dot_addr); rewrite (dot_sym S x d).
  pose proof (cauchy_square d x) as C; pose proof (dot_pos S x) as X; pose proof (dot_pos S d) as D.
  set (q := dot d x) in *; set (n := dot x x) in *; set (g := dot d d) in *.
  assert (Q : 0 <= q) by (apply Rnot_lt_le; intros N; assert (L * q < 0) by nra; lra).
  assert (QL : q <= L * n).
  { destruct (Req_dec q 0) as [-> | N]; [nra |].
    apply (Rmult_le_reg_l q); [lra |]; assert (g * n <= L * q * n) by (apply Rmult_le_compat_r; lra); nra. }
  assert (G : eta * eta * g <= eta * eta * (L * q)) by (apply Rmult_le_compat_l; [nra | exact H]).
  (* what is left is linear in q, which is between 0 and L n *)
  apply (Rmult_le_reg_l L); [exact PL |].
  assert (A' : (L * n - q) * ((1 - eta * alpha) * (1 - eta * alpha)) <= (L * n - q) * (m * m)) by (apply Rmult_le_compat_l; lra).
  assert (B' : q * ((1 - eta * (L + alpha)) * (1 - eta * (L + alpha))) <= q * (m * m)) by (apply Rmult_le_compat_l; lra).
  assert (G' : L * (eta * eta * g) <= L * (eta * eta * (L * q))) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(* The projection on a closed convex set, by its variational inequality, does not increase distances. *)
Theorem projection w w' p p' : dot (sub w p) (sub p' p) <= 0 -> dot (sub w' p') (sub p p') <= 0 -> nrm (sub p p') <= nrm (sub w w').
Proof.
  intros A B.
  assert (H : nrm (sub p p') * nrm (sub p p') <= nrm (sub w w') * nrm (sub p p')).
  { pose proof (cauchy (sub w w') (sub p p')) as C; pose proof (Rle_abs (dot (sub w w') (sub p p'))) as C'.
    rewrite nrm_sqr; eapply Rle_trans; [| eapply Rle_trans; [exact C' | exact C]].
    rewrite !dot_sub, !dot_subr in *; rewrite (dot_sym S p' p) in *; lra. }
  pose proof (nrm_pos (sub p p')); pose proof (nrm_pos (sub w w')).
  destruct (Req_dec (nrm (sub p p')) 0) as [Z | N]; [lra |].
  apply (Rmult_le_reg_r (nrm (sub p p'))); lra.
Qed.

(* The exact updates f and f' of neighbours, the iterates u and u' as computed. *)
Variables (c move rho diam : R) (f f' : S -> S) (u u' : nat -> S).
Hypotheses (Hc : 0 <= c).
Hypothesis lipschitz : forall w v, nrm (sub (f w) (f v)) <= c * nrm (sub w v).
Hypothesis moves : forall w, nrm (sub (f w) (f' w)) <= move.
Hypotheses (computed : forall t, nrm (sub (u (Datatypes.S t)) (f (u t))) <= rho) (computed' : forall t, nrm (sub (u' (Datatypes.S t)) (f' (u' t))) <= rho).
Hypothesis start : u O = u' O.
Hypothesis inside : forall t, nrm (sub (u t) (u' t)) <= diam.

Fixpoint delta (t : nat) : R := match t with O => 0 | Datatypes.S t' => Rmin (c * delta t' + move + 2 * rho) diam end.

Theorem last_iterate t : nrm (sub (u t) (u' t)) <= delta t.
Proof.
  induction t as [| t IH]; cbn [delta].
  - rewrite start; pose proof (norm_sub_self (euclid S) (u' O)) as Z; cbn [norm euclid] in Z; lra.
  - apply Rmin_glb; [| apply inside].
    pose proof (norm_through (euclid S) (u (Datatypes.S t)) (f (u t)) (u' (Datatypes.S t))) as T1.
    pose proof (norm_through (euclid S) (f (u t)) (f (u' t)) (u' (Datatypes.S t))) as T2.
    pose proof (norm_through (euclid S) (f (u' t)) (f' (u' t)) (u' (Datatypes.S t))) as T3.
    pose proof (norm_sub_sym (euclid S) (f' (u' t)) (u' (Datatypes.S t))) as Y.
    cbn [norm euclid] in *; pose proof (lipschitz (u t) (u' t)); pose proof (moves (u' t)); pose proof (computed t); pose proof (computed' t).
    assert (c * nrm (sub (u t) (u' t)) <= c * delta t) by (apply Rmult_le_compat_l; assumption); lra.
Qed.

Fixpoint iterates (v : nat -> S) (t : nat) : S := match t with O => zero | Datatypes.S t' => add (iterates v t') (v (Datatypes.S t')) end.
Fixpoint deltas (t : nat) : R := match t with O => 0 | Datatypes.S t' => deltas t' + delta (Datatypes.S t') end.

(* The average of u_1, ..., u_T, computed within out of the exact one. *)
Theorem average T out (y y' : S) : (0 < T)%nat ->
  nrm (sub y (scale (/ INR T) (iterates u T))) <= out -> nrm (sub y' (scale (/ INR T) (iterates u' T))) <= out ->
  nrm (sub y y') <= deltas T / INR T + 2 * out.
Proof.
  intros P Y Y'.
  assert (PT : 0 < INR T) by (apply lt_0_INR; exact P).
  assert (I : forall t, nrm (sub (iterates u t) (iterates u' t)) <= deltas t).
  { induction t as [| t IH]; [cbn [iterates deltas]; pose proof (norm_sub_self (euclid S) zero) as Z; cbn [norm euclid] in Z; lra |].
    cbn [iterates deltas].
    rewrite (eqv_nrm _ (add (sub (iterates u t) (iterates u' t)) (sub (u (Datatypes.S t)) (u' (Datatypes.S t))))) by vec.
    eapply Rle_trans; [apply nrm_add |]; pose proof (last_iterate (Datatypes.S t)); lra. }
  assert (M : nrm (sub (scale (/ INR T) (iterates u T)) (scale (/ INR T) (iterates u' T))) <= deltas T / INR T).
  { rewrite (eqv_nrm _ (scale (/ INR T) (sub (iterates u T) (iterates u' T)))) by vec.
    rewrite nrm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; exact PT).
    unfold Rdiv; rewrite Rmult_comm; apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact PT | apply I]. }
  pose proof (norm_through (euclid S) y (scale (/ INR T) (iterates u T)) y') as T1.
  pose proof (norm_through (euclid S) (scale (/ INR T) (iterates u T)) (scale (/ INR T) (iterates u' T)) y') as T2.
  pose proof (norm_sub_sym (euclid S) (scale (/ INR T) (iterates u' T)) y') as Q; cbn [norm euclid] in *; lra.
Qed.
End Steps.

(* Without rounding and below the diameter, the geometric series. *)
Lemma series c move diam t : 0 <= c < 1 -> 0 <= move -> delta c move 0 diam t <= move * (1 - c ^ t) / (1 - c).
Proof.
  intros C M; induction t as [| t IH]; cbn [delta]; [simpl; unfold Rdiv; lra |].
  eapply Rle_trans; [apply Rmin_l |].
  assert (c * delta c move 0 diam t <= c * (move * (1 - c ^ t) / (1 - c))) by (apply Rmult_le_compat_l; lra).
  replace (move * (1 - c ^ Datatypes.S t) / (1 - c)) with (c * (move * (1 - c ^ t) / (1 - c)) + move) by (simpl; field; lra); lra.
Qed.
