(* Vectors, norms, sums over records and what the replacement of one record moves.

   A space is a type with an inner product that may be 0 for vectors other than 0: then all that follows holds with "equal
   under the inner product" in the place of "equal", and no axiom about functions is needed. R, products of spaces, R^d
   and matrices with the Frobenius product are spaces, with proofs, at the end. *)
From Coq Require Import Reals Lra Psatz List Arith.
Import ListNotations.
Open Scope R_scope.

Record Space := {
  car :> Type;
  zero : car;
  add : car -> car -> car;
  scale : R -> car -> car;
  dot : car -> car -> R;
  dot_sym : forall x y, dot x y = dot y x;
  dot_zero : forall x, dot zero x = 0;
  dot_add : forall x y z, dot (add x y) z = dot x z + dot y z;
  dot_scale : forall a x y, dot (scale a x) y = a * dot x y;
  dot_pos : forall x, 0 <= dot x x
}.
Arguments zero {s}.
Arguments add {s}.
Arguments scale {s}.
Arguments dot {s}.

Definition sub {S : Space} (x y : S) : S := add x (scale (-1) y).
Definition nrm {S : Space} (x : S) : R := sqrt (dot x x).
Definition eqv {S : Space} (x y : S) := forall w, dot x w = dot y w.

Section Facts.
Context {S : Space}.
Implicit Types x y z w : S.

Lemma dot_addr x y z : dot z (add x y) = dot z x + dot z y.
Proof. rewrite (dot_sym S), dot_add, (dot_sym S x), (dot_sym S y); ring. Qed.
Lemma dot_scaler a x y : dot x (scale a y) = a * dot x y.
Proof. rewrite (dot_sym S), dot_scale, (dot_sym S); ring. Qed.
Lemma dot_zeror x : dot x zero = 0.
Proof. rewrite (dot_sym S); apply dot_zero. Qed.
Lemma dot_sub x y z : dot (sub x y) z = dot x z - dot y z.
Proof. unfold sub; rewrite dot_add, dot_scale; ring. Qed.
Lemma dot_subr x y z : dot z (sub x y) = dot z x - dot z y.
Proof. rewrite (dot_sym S), dot_sub, (dot_sym S x), (dot_sym S y); ring. Qed.

Lemma dot_sub_sub x y : dot (sub x y) (sub x y) = dot x x + dot y y - 2 * dot x y.
Proof. rewrite dot_sub, !dot_subr, (dot_sym S y x); ring. Qed.

Lemma nrm_pos x : 0 <= nrm x.
Proof. apply sqrt_pos. Qed.
Lemma nrm_sqr x : nrm x * nrm x = dot x x.
Proof. apply sqrt_sqrt, dot_pos. Qed.
Lemma nrm_le x c : 0 <= c -> dot x x <= c * c -> nrm x <= c.
Proof. intros P H; rewrite <- (sqrt_square c P); apply sqrt_le_1_alt; exact H. Qed.
Lemma dot_le x c : nrm x <= c -> dot x x <= c * c.
Proof. intros H; rewrite <- nrm_sqr; pose proof (nrm_pos x); nra. Qed.

Lemma eqv_dot x y : eqv x y -> dot x x = dot y y.
Proof. intros H; rewrite (H x), (dot_sym S), (H y); reflexivity. Qed.
Lemma eqv_nrm x y : eqv x y -> nrm x = nrm y.
Proof. intros H; unfold nrm; rewrite (eqv_dot x y H); reflexivity. Qed.

Lemma cauchy_square x y : dot x y * dot x y <= dot x x * dot y y.
Proof.
  assert (Q : forall t, 0 <= dot x x - 2 * t * dot x y + t * t * dot y y).
  { intros t; pose proof (dot_pos S (sub x (scale t y))) as H.
    rewrite dot_sub_sub, dot_scale, !dot_scaler in H; nra. }
  pose proof (dot_pos S x) as Px; pose proof (dot_pos S y) as Py.
  destruct (Req_dec (dot y y) 0) as [Z | N].
  - destruct (Req_dec (dot x y) 0) as [Zx | Nx]; [rewrite Zx; nra |].
    pose proof (Q ((dot x x + 1) / (2 * dot x y))) as H; rewrite Z in H.
    replace (2 * ((dot x x + 1) / (2 * dot x y)) * dot x y) with (dot x x + 1) in H by (field; lra); lra.
  - pose proof (Q (dot x y / dot y y)) as H.
    assert (P : 0 < dot y y) by lra.
    replace (dot x x - 2 * (dot x y / dot y y) * dot x y + dot x y / dot y y * (dot x y / dot y y) * dot y y)
      with ((dot x x * dot y y - dot x y * dot x y) / dot y y) in H by (field; lra).
    assert (0 <= dot x x * dot y y - dot x y * dot x y); [| lra].
    replace (dot x x * dot y y - dot x y * dot x y)
      with ((dot x x * dot y y - dot x y * dot x y) / dot y y * dot y y) by (field; lra).
    apply Rmult_le_pos; lra.
Qed.

Lemma cauchy x y : Rabs (dot x y) <= nrm x * nrm y.
Proof.
  rewrite <- (Rabs_pos_eq (nrm x * nrm y)) by (apply Rmult_le_pos; apply nrm_pos).
  apply Rsqr_le_abs_0; unfold Rsqr.
  pose proof (cauchy_square x y); pose proof (nrm_sqr x) as A; pose proof (nrm_sqr y) as B.
  replace (nrm x * nrm y * (nrm x * nrm y)) with ((nrm x * nrm x) * (nrm y * nrm y)) by ring.
  rewrite A, B; assumption.
Qed.

Lemma nrm_zero : nrm (@zero S) = 0.
Proof. unfold nrm; rewrite dot_zero; apply sqrt_0. Qed.

Lemma nrm_add x y : nrm (add x y) <= nrm x + nrm y.
Proof.
  pose proof (nrm_pos x); pose proof (nrm_pos y).
  apply nrm_le; [lra |].
  rewrite dot_add, !dot_addr, (dot_sym S y x), <- (nrm_sqr x), <- (nrm_sqr y).
  pose proof (cauchy x y); pose proof (Rle_abs (dot x y)); nra.
Qed.

Lemma nrm_scale a x : nrm (scale a x) = Rabs a * nrm x.
Proof.
  unfold nrm; rewrite dot_scale, dot_scaler, <- Rmult_assoc.
  rewrite sqrt_mult_alt by nra; f_equal; apply sqrt_Rsqr_abs.
Qed.
End Facts.

(* A norm that may be another one than that of the inner product: the L1 norm for Laplace noise. *)
Record Norm (S : Space) := {
  norm :> S -> R;
  norm_eqv : forall x y, eqv x y -> norm x = norm y;
  norm_add : forall x y, norm (add x y) <= norm x + norm y;
  norm_scale : forall a x, norm (scale a x) = Rabs a * norm x
}.
Arguments norm {S}.
Arguments norm_eqv {S}.
Arguments norm_add {S}.
Arguments norm_scale {S}.

Definition euclid (S : Space) : Norm S :=
  {| norm := nrm; norm_eqv := eqv_nrm; norm_add := nrm_add; norm_scale := nrm_scale |}.

Ltac vec := let w := fresh "w" in intros w; unfold sub;
  repeat (rewrite dot_add || rewrite dot_scale || rewrite dot_zero); try ring.

Section NormFacts.
Context {S : Space} (N : Norm S).
Implicit Types x y z : S.

Lemma norm_zero : N zero = 0.
Proof.
  rewrite (norm_eqv N zero (scale 0 zero)) by vec.
  rewrite norm_scale, Rabs_R0; ring.
Qed.
Lemma norm_pos x : 0 <= N x.
Proof.
  pose proof (norm_add N x (scale (-1) x)) as H; rewrite norm_scale in H.
  rewrite (norm_eqv N (add x (scale (-1) x)) zero) in H by vec.
  rewrite norm_zero in H; replace (Rabs (-1)) with 1 in H by (rewrite Rabs_left; lra); lra.
Qed.
Lemma norm_sub x y : N (sub x y) <= N x + N y.
Proof.
  unfold sub; pose proof (norm_add N x (scale (-1) y)) as H; rewrite norm_scale in H.
  replace (Rabs (-1)) with 1 in H by (rewrite Rabs_left; lra); lra.
Qed.
Lemma norm_sub_sym x y : N (sub x y) = N (sub y x).
Proof.
  rewrite (norm_eqv N (sub x y) (scale (-1) (sub y x))) by vec.
  rewrite norm_scale; replace (Rabs (-1)) with 1 by (rewrite Rabs_left; lra); ring.
Qed.
Lemma norm_through x y z : N (sub x z) <= N (sub x y) + N (sub y z).
Proof.
  rewrite (norm_eqv N (sub x z) (add (sub x y) (sub y z))) by vec; apply norm_add.
Qed.
Lemma norm_sub_self x : N (sub x x) = 0.
Proof. rewrite (norm_eqv N (sub x x) zero) by vec; apply norm_zero. Qed.
End NormFacts.

(* Sums over records. *)
Fixpoint vsum {Z : Type} {S : Space} (f : Z -> S) (D : list Z) : S :=
  match D with nil => zero | z :: D' => add (f z) (vsum f D') end.
Fixpoint rsum {Z : Type} (f : Z -> R) (D : list Z) : R :=
  match D with nil => 0 | z :: D' => f z + rsum f D' end.

Lemma dot_vsum {Z} {S : Space} (f : Z -> S) D w : dot (vsum f D) w = rsum (fun z => dot (f z) w) D.
Proof. induction D as [| z D IH]; simpl; [apply dot_zero | rewrite dot_add, IH; reflexivity]. Qed.
Lemma rsum_app {Z} (f : Z -> R) D E : rsum f (D ++ E) = rsum f D + rsum f E.
Proof. induction D as [| z D IH]; simpl; [ring | rewrite IH; ring]. Qed.
Lemma rsum_le {Z} (f g : Z -> R) D : (forall z, In z D -> f z <= g z) -> rsum f D <= rsum g D.
Proof.
  induction D as [| z D IH]; simpl; intros H; [lra |].
  pose proof (H z (or_introl eq_refl)); pose proof (IH (fun y I => H y (or_intror I))); lra.
Qed.
Lemma rsum_const {Z} c (D : list Z) : rsum (fun _ => c) D = INR (length D) * c.
Proof. induction D as [| z D IH]; [simpl; ring |]; simpl rsum; simpl length; rewrite IH, S_INR; ring. Qed.
Lemma rsum_scale {Z} c (f : Z -> R) D : rsum (fun z => c * f z) D = c * rsum f D.
Proof. induction D as [| z D IH]; simpl; [ring | rewrite IH; ring]. Qed.
Lemma rsum_ext {Z} (f g : Z -> R) D : (forall z, f z = g z) -> rsum f D = rsum g D.
Proof. intros H; induction D as [| z D IH]; simpl; [reflexivity | rewrite H, IH; reflexivity]. Qed.
Lemma rsum_pos {Z} (f : Z -> R) D : (forall z, In z D -> 0 <= f z) -> 0 <= rsum f D.
Proof.
  intros H; pose proof (rsum_le (fun _ => 0) f D H) as L; rewrite rsum_const in L; lra.
Qed.
Lemma norm_vsum {Z} {S : Space} (N : Norm S) (f : Z -> S) D : N (vsum f D) <= rsum (fun z => N (f z)) D.
Proof.
  induction D as [| z D IH]; simpl; [rewrite norm_zero; lra |].
  pose proof (norm_add N (f z) (vsum f D)); lra.
Qed.
Lemma norm_vsum_le {Z} {S : Space} (N : Norm S) (f : Z -> S) c D :
  (forall z, In z D -> N (f z) <= c) -> N (vsum f D) <= INR (length D) * c.
Proof.
  intros H; eapply Rle_trans; [apply norm_vsum |]; rewrite <- rsum_const; apply rsum_le; exact H.
Qed.
Lemma vsum_app {Z} {S : Space} (f : Z -> S) D E : eqv (vsum f (D ++ E)) (add (vsum f D) (vsum f E)).
Proof. intros w; rewrite dot_add, !dot_vsum; apply rsum_app. Qed.

(* Data sets are lists of records within public bounds, ok; neighbours differ in one of them, at any place. A query has the
   sensitivity D in a norm N: *)
Definition sensitivity {Z} {S : Space} (N : S -> R) (ok : Z -> Prop) (f : list Z -> S) (D : R) :=
  forall before after z z', Forall ok before -> Forall ok after -> ok z -> ok z' ->
    N (sub (f (before ++ z :: after)) (f (before ++ z' :: after))) <= D.

(* docs/theory.md 11.1: of a sum over records only one term moves. *)
Theorem sum_over_records {Z} {S : Space} (N : Norm S) (ok : Z -> Prop) (phi : Z -> S) D :
  (forall z z', ok z -> ok z' -> N (sub (phi z) (phi z')) <= D) -> sensitivity N ok (vsum phi) D.
Proof.
  intros H before after z z' _ _ Hz Hz'.
  rewrite (norm_eqv N _ (sub (phi z) (phi z'))); [apply H; assumption |].
  intros w; rewrite !dot_sub, !dot_vsum, !rsum_app; simpl; ring.
Qed.

Lemma term_distance {Z} {S : Space} (N : Norm S) (ok : Z -> Prop) (phi : Z -> S) D :
  sensitivity N ok (vsum phi) D -> forall z z', ok z -> ok z' -> N (sub (phi z) (phi z')) <= D.
Proof.
  intros H z z' A B; specialize (H nil nil z z' (Forall_nil _) (Forall_nil _) A B).
  rewrite (norm_eqv N _ (sub (vsum phi (nil ++ z :: nil)) (vsum phi (nil ++ z' :: nil)))); [exact H |].
  intros w; rewrite !dot_sub, !dot_vsum; simpl; ring.
Qed.

(* docs/theory.md 3.1: what is computed within rho of a query moves by 2 rho more. *)
Theorem computed_query {Z} {S : Space} (N : Norm S) (ok : Z -> Prop) (f computed : list Z -> S) D rho :
  (forall data, Forall ok data -> N (sub (computed data) (f data)) <= rho) ->
  sensitivity N ok f D -> sensitivity N ok computed (D + 2 * rho).
Proof.
  intros E H before after z z' Hb Ha Hz Hz'.
  assert (A : Forall ok (before ++ z :: after)) by (apply Forall_app; split; [| constructor]; assumption).
  assert (B : Forall ok (before ++ z' :: after)) by (apply Forall_app; split; [| constructor]; assumption).
  pose proof (E _ A) as EA; pose proof (E _ B) as EB; rewrite norm_sub_sym in EB.
  pose proof (H before after z z' Hb Ha Hz Hz').
  eapply Rle_trans; [apply (norm_through N _ (f (before ++ z :: after))) |].
  pose proof (norm_through N (f (before ++ z :: after)) (f (before ++ z' :: after)) (computed (before ++ z' :: after))).
  lra.
Qed.

(* Spaces: the line, pairs of vectors, d vectors. *)
Definition Line : Space.
Proof.
  refine {| car := R; zero := 0; add := Rplus; scale := Rmult; dot := Rmult |}; intros; try ring; nra.
Defined.

Definition Pair (S T : Space) : Space.
Proof.
  refine {| car := (S * T)%type; zero := (zero, zero);
            add := fun x y => (add (fst x) (fst y), add (snd x) (snd y));
            scale := fun a x => (scale a (fst x), scale a (snd x));
            dot := fun x y => dot (fst x) (fst y) + dot (snd x) (snd y) |}; intros; simpl.
  - rewrite (dot_sym S), (dot_sym T); reflexivity.
  - rewrite !dot_zero; ring.
  - rewrite !dot_add; ring.
  - rewrite !dot_scale; ring.
  - pose proof (dot_pos S (fst x)); pose proof (dot_pos T (snd x)); lra.
Defined.

Lemma dot_line (a b : Line) : dot (sub a b) (sub a b) = (a - b) * (a - b).
Proof. unfold sub; simpl; ring. Qed.
Lemma dot_pair {S T : Space} (a a' : S) (b b' : T) :
  dot (sub ((a, b) : Pair S T) (a', b')) (sub ((a, b) : Pair S T) (a', b')) = dot (sub a a') (sub a a') + dot (sub b b') (sub b b').
Proof. reflexivity. Qed.

Fixpoint sumn (d : nat) (f : nat -> R) : R := match d with O => 0 | S d' => sumn d' f + f d' end.
Lemma sumn_ext d f g : (forall i, (i < d)%nat -> f i = g i) -> sumn d f = sumn d g.
Proof. induction d; intros H; simpl; [reflexivity | rewrite IHd, H; auto]. Qed.
Lemma sumn_add d f g : sumn d (fun i => f i + g i) = sumn d f + sumn d g.
Proof. induction d; simpl; [ring | rewrite IHd; ring]. Qed.
Lemma sumn_scale d a f : sumn d (fun i => a * f i) = a * sumn d f.
Proof. induction d; simpl; [ring | rewrite IHd; ring]. Qed.
Lemma sumn_le d f g : (forall i, (i < d)%nat -> f i <= g i) -> sumn d f <= sumn d g.
Proof.
  induction d; intros H; simpl; [lra |].
  assert (sumn d f <= sumn d g) by (apply IHd; auto); assert (f d <= g d) by (apply H; auto); lra.
Qed.
Lemma sumn_zero d : sumn d (fun _ => 0) = 0.
Proof. induction d; simpl; [reflexivity | rewrite IHd; ring]. Qed.

Definition Power (d : nat) (S : Space) : Space.
Proof.
  refine {| car := nat -> S; zero := fun _ => zero; add := fun x y i => add (x i) (y i);
            scale := fun a x i => scale a (x i); dot := fun x y => sumn d (fun i => dot (x i) (y i)) |}; intros; simpl.
  - apply sumn_ext; intros; apply dot_sym.
  - rewrite <- (sumn_zero d); apply sumn_ext; intros; apply dot_zero.
  - rewrite <- sumn_add; apply sumn_ext; intros; apply dot_add.
  - rewrite <- sumn_scale; apply sumn_ext; intros; apply dot_scale.
  - rewrite <- (sumn_zero d); apply sumn_le; intros; apply dot_pos.
Defined.

Definition Vec (d : nat) : Space := Power d Line.
Definition Mat (d : nat) : Space := Power d (Vec d).

(* x x^T with the Frobenius product, and its diagonal. *)
Definition outer {d} (x : Vec d) : Mat d := fun i j => x i * x j.
Definition diagonal {d} (m : Mat d) : Vec d := fun i => m i i.

Lemma dot_outer {d} (x y : Vec d) : dot (outer x) (outer y) = dot x y * dot x y.
Proof.
  simpl; unfold outer.
  transitivity (sumn d (fun i => sumn d (fun j => x j * y j) * (x i * y i))).
  - apply sumn_ext; intros i _; rewrite Rmult_comm, <- sumn_scale; apply sumn_ext; intros; ring.
  - rewrite sumn_scale; reflexivity.
Qed.

Lemma sumn_one d f k : (k < d)%nat -> (forall i, 0 <= f i) -> f k <= sumn d f.
Proof.
  intros L P; induction d; simpl; [lia |].
  assert (0 <= sumn d f) by (rewrite <- (sumn_zero d); apply sumn_le; auto).
  pose proof (P d); destruct (Nat.eq_dec k d) as [-> | N]; [lra |].
  assert (f k <= sumn d f) by (apply IHd; lia); lra.
Qed.

Lemma diagonal_le {d} (m : Mat d) : dot (diagonal m) (diagonal m) <= dot m m.
Proof.
  simpl; unfold diagonal; apply sumn_le; intros i H.
  apply (sumn_one d (fun j => m i j * m i j) i H); intros; nra.
Qed.

(* The L1 norm of R^d. *)
Definition unit_at {d} (k : nat) : Vec d := fun i => if Nat.eq_dec i k then 1 else 0.
Lemma dot_unit {d} (x : Vec d) k : (k < d)%nat -> dot x (unit_at k) = x k.
Proof.
  simpl; unfold unit_at; intros H.
  assert (G : forall n, ((k < n)%nat -> sumn n (fun i => x i * (if Nat.eq_dec i k then 1 else 0)) = x k) /\
                        ((n <= k)%nat -> sumn n (fun i => x i * (if Nat.eq_dec i k then 1 else 0)) = 0)).
  { induction n as [| n [A B]]; split; intros L; simpl; try lia; try reflexivity.
    - destruct (Nat.eq_dec n k) as [E | N]; [rewrite B by lia; rewrite E; ring | rewrite A by lia; ring].
    - destruct (Nat.eq_dec n k) as [E | N]; [lia | rewrite B by lia; ring]. }
  apply G; exact H.
Qed.

Definition manhattan (d : nat) : Norm (Vec d).
Proof.
  refine {| norm := fun x : Vec d => sumn d (fun i => Rabs (x i)) |}.
  - intros x y H; apply sumn_ext; intros i L; rewrite <- (dot_unit x i L), (H (unit_at i)), (dot_unit y i L); reflexivity.
  - intros x y; rewrite <- sumn_add; apply sumn_le; intros; simpl; apply Rabs_triang.
  - intros a x; rewrite <- sumn_scale; apply sumn_ext; intros; simpl; apply Rabs_mult.
Defined.
